"""What people look at: progress, pictures, pages."""
