"""Random expressions and templates from a seed: well formed, with values of every type, so about half are errors."""

import random

ATOMS = ["s", "t", "u", "e", "q", "html", "lines", "num", "n", "z", "neg", "f", "tiny", "yes", "no", "nil", "l", "words", "nested", "empty", "mixed", "d",
         "ed", "users", "messages", "undef", "0", "1", "2", "-1", "3.5", "'a'", "'lo'", "''", "' '", "true", "none", "[]", "[1,'x']", "{}", "{'k':1}", "(1,2)", "range(4)",
         "users[0]", "messages[1].content", "d.C", "words[1]", "nested[1]"]
STRINGS = ["s", "t", "u", "e", "q", "html", "lines", "num", "'lo'", "' a b '", "words[0]", "messages[1].content"]
LISTS = ["l", "words", "nested", "empty", "mixed", "range(5)", "users|map(attribute='age')|list", "s.split()", "d.keys()|list", "'hello'|list", "[3,1,2]", "(1,'b')"]
INTS = ["n", "z", "neg", "0", "1", "2", "3", "-1", "-2", "l|length"]
METHODS = ["upper()", "lower()", "strip()", "title()", "split()", "split('l')", "split('o',1)", "replace('l','L')", "startswith('H')", "endswith('d')", "find('o')", "count('l')",
           "splitlines()", "lstrip()", "rstrip('d')", "capitalize()", "zfill(14)", "center(15,'-')", "partition('l')", "rsplit('l',1)", "isdigit()", "islower()", "swapcase()",
           "removeprefix('He')", "rfind('l')", "expandtabs(3)", "casefold()", "items()", "keys()", "get('a')", "index(1)", "count(1)"]
# A generator's own text holds an address, so what makes one is never followed by what would only print it.
FILTERS = ["upper", "lower", "title", "capitalize", "trim", "length", "first", "last", "list", "sort", "reverse|list", "unique|list", "join", "join(',')", "string", "int", "float", "abs", "round",
           "round(1)", "e", "default('D')", "d('D',true)", "tojson", "tojson(indent=1)", "replace('l','_')", "replace('a','',1)", "sum", "min", "max", "indent(2)", "center(12)",
           "truncate(6)", "truncate(6,true,'',0)", "batch(2)|list", "slice(2)|list", "items|list", "dictsort", "urlencode", "striptags", "map('string')|list", "map('length')|list", "map(attribute='name')|list", "map(attribute=0)|first",
           "select|list", "reject|list", "select('odd')|list", "select('string')|join", "reject('none')|list", "selectattr('age')|list", "groupby('age')", "groupby(0)", "sort(reverse=true)", "sort(attribute='name')",
           "unique(true)|list", "select('number')", "max(true)", "wordwrap(7)", "filesizeformat", "forceescape", "format(1)", "attr('name')", "xmlattr", "pprint", "count"]
TESTS = ["defined", "undefined", "none", "string", "number", "integer", "float", "boolean", "mapping", "iterable", "sequence", "callable", "odd", "even", "true", "false", "lower", "upper", "escaped",
         "eq 1", "ne 'a'", "lt 2", "ge(1)", "in [1,'a']", "divisibleby 2", "sameas none"]
BINARY = ["+", "-", "*", "/", "//", "%", "~", "==", "!=", "<", "<=", ">", ">=", "in", "not in", "and", "or"]


class Maker:
    def __init__(self, seed):
        self.r = random.Random(seed)

    def pick(self, options):
        return self.r.choice(options)

    def expression(self, depth):
        kind = self.r.randrange(14) if depth > 0 else 0
        sub = lambda: self.expression(depth - 1)
        if kind == 0: return self.pick(self.pick([ATOMS, STRINGS, LISTS, INTS]))
        if kind in (1, 2): return f"({sub()}) {self.pick(BINARY)} ({sub()})"
        if kind in (3, 4, 5): return f"({sub()})|{self.pick(FILTERS)}"
        if kind == 6: return f"({self.pick(STRINGS)})|{self.pick(FILTERS)}|{self.pick(FILTERS)}"
        if kind == 7: return f"({sub()}) is {self.pick(['', 'not '])}{self.pick(TESTS)}"
        if kind == 8: return f"({sub()} if {sub()} else {sub()})"
        if kind == 9: return f"({self.pick(STRINGS)}).{self.pick(METHODS)}"
        if kind == 10: return f"({self.pick([self.pick(STRINGS), self.pick(LISTS)])})[{self.slice()}]"
        if kind == 11: return f"[{sub()}, {sub()}]" if self.r.random() < 0.5 else f"{{{self.pick(STRINGS)}: {sub()}, 'z': {sub()}}}"
        if kind == 12: return f"({self.pick(LISTS)})|{self.pick(FILTERS)}"
        return f"{self.pick(['not ', '-', '+', ''])}({sub()})"

    def slice(self):
        part = lambda: self.pick(["", "", "1", "-1", "2", "-2", "0", "99", "n"])
        return self.pick([part() or "0", f"{part()}:{part()}", f"{part()}:{part()}:{self.pick(['', '1', '2', '-1', '-2', '3'])}"])

    def space(self):
        return self.pick(["", "", "", " ", "\n", "  \n  ", "\n\n", "x", " y "])

    def open(self):
        return self.pick(["{%", "{%", "{%", "{%-", "{%+"])

    def close(self):
        return self.pick(["%}", "%}", "%}", "-%}", "+%}"])

    def tag(self, text):
        return f"{self.open()} {text} {self.close()}"

    def body(self, depth, in_loop):
        return "".join(self.space() + self.statement(depth, in_loop) + self.space() for _ in range(self.r.randrange(1, 4)))

    def statement(self, depth, in_loop):
        names = ["a", "b", "n", "s", "x"]
        kind = self.r.randrange(14) if depth > 0 else self.r.randrange(3)
        inner = lambda loop=in_loop: self.body(depth - 1, loop)
        value = lambda: self.pick(names + ATOMS + [self.expression(1)])
        if kind == 0: return f"{{{{ {value()} }}}}"
        if kind == 1: return self.tag(f"set {self.pick(names)} = {value()}")
        if kind == 2: return self.pick([f"{{{{- {value()} -}}}}", "{#- note -#}", "{# note #}", f"{{{{ {self.pick(names)} }}}}"])
        if kind in (3, 4): return self.tag(f"for {self.pick(names)} in {self.pick(LISTS)}{self.pick(['', '', ' if x', ' if loop', ' recursive'])}") + inner(True) + self.pick(["", self.tag("else") + inner()]) + self.tag("endfor")
        if kind in (5, 6): return self.tag(f"if {value()}") + inner() + self.pick(["", self.tag("else") + inner(), self.tag(f"elif {value()}") + inner()]) + self.tag("endif")
        if kind == 7: return self.tag(f"set {self.pick(names)}{self.pick(['', ' | upper', ' | trim'])}") + inner() + self.tag("endset")
        if kind == 8: return self.tag(f"with {self.pick(names)} = {value()}") + inner() + self.tag("endwith")
        if kind == 9: return self.tag(f"macro m({self.pick(['', 'a', 'a, b=1', 'x=n'])})") + inner(False) + self.pick(["", "{{ caller() }}", "{{ varargs }}"]) + self.tag("endmacro") + f"{{{{ m({self.pick(['', '1', '1, 2', 'b=s', 'n'])}) }}}}"
        if kind == 10: return self.tag(f"filter {self.pick(['upper', 'trim', 'replace(1, 2)', 'length'])}") + inner() + self.tag("endfilter")
        if kind == 11: return self.tag("call m()") + inner(False) + self.tag("endcall") if self.r.random() < 0.3 else self.tag("generation") + inner(False) + self.tag("endgeneration")
        if kind == 12: return self.tag(self.pick(["break", "continue"])) if in_loop and self.r.random() < 0.5 else f"{{{{ {self.pick(['loop.index', 'loop.last', 'loop.length', 'loop', 'loop.previtem'])} }}}}"
        return self.tag("raw") + "{{ x }}" + self.tag("endraw")


def make(count_expressions, count_templates, seed):
    maker = Maker(seed)
    for _ in range(count_expressions):
        yield "{{ " + maker.expression(3) + " }}"
    for _ in range(count_templates):
        yield maker.body(3, False)
