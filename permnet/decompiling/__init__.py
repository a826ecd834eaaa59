"""Assembly in, C out, each function verified by compiling it again.

In running order: `source` reads files, `text` cuts functions out of assembly (`statements` cuts it
up, `syntax` brings it into one spelling), `question` asks them in a model's tokens, `answer` has
the model's answers, `verify` compiles them again and compares assembly, `machine` machine code, and
`pipeline` puts it all together. `rules` is the yardstick: a switch's skeleton without any model.
"""
