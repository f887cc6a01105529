"""Numbers of a paper's parts, read from its source."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from noisewise_bench import numbering

SOURCE = r"""
\section{Method}\label{sec:method}
\subsection{First {\tt steps}}
\begin{equation} a \label{eq:a} \end{equation}
% \begin{equation} struck out \end{equation}
\begin{align}
  b &= 1 \notag \\
  c &= 100\% \label{eq:c} \\
  d &= 3
\end{align}
\begin{align*} e \\ f \end{align*}
\begin{lemma}[of somebody]
  \label{lem:one}
  It holds \begin{equation} g \label{eq:g} \end{equation}
\end{lemma}
\begin{theorem} It does not. \end{theorem}
\section*{Thanks}
\begin{figure*}[t]
  \begin{subfigure} x \\ y \end{subfigure}
  \caption{A \textbf{figure}.} \label{fig:one}
\end{figure*}
\section{Results}
\begin{table} \caption{T} \label{tab:one} \begin{tabular}{l} 1 \\ 2 \end{tabular} \end{table}
\begin{table} no caption \end{table}
\appendix
\section{More}
\subsection{Details}
\begin{figure} \caption{F} \end{figure}
\begin{equation*} h \end{equation*}
\begin{equation} i \end{equation}
"""


def test_parts_are_numbered_as_latex_does() -> None:
    assert [tuple(part) for part in numbering.parts(SOURCE)] == [
        ("1", "Section", "1", "Method"),
        ("1.1", "Section", "1.1", r"First {\tt steps}"),
        ("1.1", "Eq.", "1", "eq:a"),
        ("1.1", "Eq.", "2", "eq:c"),
        ("1.1", "Eq.", "3", ""),
        ("1.1", "Lemma", "1", "lem:one"),
        ("1.1", "Eq.", "4", "eq:g"),
        ("1.1", "Theorem", "1", ""),
        ("1.1", "Figure", "1", "fig:one"),
        ("2", "Section", "2", "Results"),
        ("2", "Table", "1", "tab:one"),
        ("A", "Section", "A", "More"),
        ("A.1", "Section", "A.1", "Details"),
        ("A.1", "Figure", "2", ""),
        ("A.1", "Eq.", "5", ""),
    ]


def test_the_command_prints_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "paper.tex"
    path.write_text(SOURCE, encoding="utf-8")
    assert numbering.main([str(path)]) == 0
    lines = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    assert len(lines) == 15
    assert lines[3] == {"section": "1.1", "kind": "Eq.", "number": "2", "name": "eq:c"}
    assert numbering.main([str(tmp_path / "none.tex")]) == 2
    assert "none.tex" in capsys.readouterr().err
