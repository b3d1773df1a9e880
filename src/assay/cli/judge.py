"""``assay judge``: judge a file, keep every judgment, show what came of it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .options import Choices, Language, Lenient, checked


def judge(
    file: Annotated[str, typer.Argument(help="JSONL, JSON, CSV or Parquet, or a hub dataset (hub:owner/name:split).")],
    judge: Annotated[
        str, typer.Option(help="verifier, pointwise, math, or the path of a judge's TOML file.")
    ] = "pointwise",
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Result file (Parquet); an unfinished one is gone on with.")
    ] = Path("judged.parquet"),
    engine: Annotated[
        str | None, typer.Option(help="embedded, openai, fake, rule or service; chosen by the judge without it.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="Judge model: the bundled one, a hub name or a folder.")] = None,
    url: Annotated[str | None, typer.Option(help="Base URL of the openai endpoint or of the judge service.")] = None,
    api_key: Annotated[str | None, typer.Option(envvar="ASSAY_API_KEY", help="Key of the endpoint or service.")] = None,
    route_key: Annotated[str | None, typer.Option(help="Instance of the service.")] = None,
    engine_options: Annotated[str, typer.Option(help="JSON: more options of the engine.")] = "{}",
    sampling: Annotated[str, typer.Option(help="JSON: temperature, top_p, top_k, max_new_tokens, stop, ...")] = "{}",
    field: Annotated[
        list[str] | None,
        typer.Option(
            "--field", "-f", help="name=path of a field: prompt, candidates, reference, gold, id; repeatable."
        ),
    ] = None,
    choices: Choices = False,
    lenient: Lenient = False,
    language: Language = "en",
    mode: Annotated[str, typer.Option(help="Scale of the pointwise judge: 1-10 or 0-1.")] = "1-10",
    need_gold: Annotated[bool, typer.Option("--need-gold", help="Refuse items without a gold label.")] = False,
    limit: Annotated[int | None, typer.Option(min=1, help="Judge only the first so many items.")] = None,
    concurrency: Annotated[int, typer.Option(min=1, help="Judgments at the same time.")] = 32,
    deadline: Annotated[
        float, typer.Option(min=0.001, help="Seconds that one judgment may take, retries included.")
    ] = 300.0,
    reask: Annotated[int, typer.Option(min=0, help="How often a text without a verdict is asked again.")] = 1,
    seed: Annotated[int, typer.Option(min=0, help="Another seed gives independent draws.")] = 0,
    cache: Annotated[Path | None, typer.Option(help="SQLite file of verdicts known from earlier runs.")] = None,
    no_dedup: Annotated[
        bool, typer.Option("--no-dedup", help="Ask equal questions again (verdicts stay the same).")
    ] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Start over: delete the result file first.")] = False,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Judge again what failed in an earlier call.")
    ] = False,
    export: Annotated[
        str | None, typer.Option(help="best or pairs: also write best-of-n or chosen/rejected rows.")
    ] = None,
    export_to: Annotated[Path | None, typer.Option(help="Where to; <out>.<export>.jsonl without it.")] = None,
    report: Annotated[Path | None, typer.Option(help="Also write an HTML report.")] = None,
) -> None:
    """Judge the candidates in FILE: progress, resume after a kill, a table at the end."""
    from .judging import Flags, judge_file

    judge_file(
        checked(
            Flags,
            file=file,
            judge=judge,
            out=out,
            engine=engine,
            model=model,
            url=url,
            api_key=api_key,
            route_key=route_key,
            engine_options=engine_options,
            sampling=sampling,
            field=field or [],
            choices=choices,
            lenient=lenient,
            language=language,
            mode=mode,
            need_gold=need_gold,
            limit=limit,
            concurrency=concurrency,
            deadline=deadline,
            reask=reask,
            seed=seed,
            cache=cache,
            no_dedup=no_dedup,
            fresh=fresh,
            retry_failed=retry_failed,
            export=export,
            export_to=export_to,
            report=report,
        )
    )
