"""Renders a template the way Hugging Face does, with its own function, at a fixed date."""

import datetime
import logging

import jinja2
from transformers.utils import chat_template_utils as utils

logging.getLogger("transformers").setLevel(logging.ERROR)
NOW = 1735732800  # 2025-01-01 12:00:00 UTC


class FixedDatetime(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return cls.fromtimestamp(NOW, datetime.timezone.utc).replace(tzinfo=None)


utils.datetime = FixedDatetime


def render(template, variables):
    """("out", text), ("raise", text of raise_exception) or ("error", what Python said)."""
    variables = dict(variables)
    try:
        rendered, _ = utils.render_jinja_template(
            conversations=[variables.pop("messages", [])],
            tools=variables.pop("tools", None),
            documents=variables.pop("documents", None),
            chat_template=template,
            add_generation_prompt=variables.pop("add_generation_prompt", False),
            **variables,
        )
        return "out", rendered[0]
    except jinja2.exceptions.TemplateError as error:
        return ("raise" if type(error) is jinja2.exceptions.TemplateError else "error"), str(error)
    except Exception as error:
        return "error", f"{type(error).__name__}: {error}"
