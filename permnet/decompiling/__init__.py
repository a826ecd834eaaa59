"""Assembly in, C out, each function verified by compiling it again.

In running order: `source` cuts functions out of files (`syntax` brings them into one spelling),
`question` asks them in a model's tokens, `answer` has the model's answers, `verify` compiles them
again, and `pipeline` puts it all together. `rules` is the yardstick: a switch's skeleton without
any model.
"""
