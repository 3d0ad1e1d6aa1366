import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { stringify } from 'smol-toml'
import { parseToml, tomlLines } from '../../src/base/toml.ts'
import { removeFromToml, setInToml } from '../../src/base/toml-edit.ts'

const set = (text: string, key: string, value: Parameters<typeof setInToml>[2]) =>
  setInToml(text, key.split('.'), value)
const remove = (text: string, key: string) => removeFromToml(text, key.split('.'))
const read = (text: string | undefined) => {
  const parsed = parseToml(text ?? '')
  assert.ok(parsed.ok, text)
  return JSON.parse(JSON.stringify(parsed.table)) as Record<string, unknown>
}

test('a syntax error is reported with its line', () => {
  assert.deepEqual({ ...parseToml('a = 1\nb = \n'), problem: '' }, { ok: false, line: 2, problem: '' })
  assert.equal(parseToml('x'.repeat(3)).ok, false)
  assert.equal(parseToml('__proto__ = 1').ok, false)
})

test('each key has its line, whatever surrounds it', () => {
  const text = `# [fake]
a = """
b = 1
"""   # c = 2
list = [ # not = this
  "x]", '#',
]

[ "t one" . two ] # end
k.l = 'it''' # no
`.replace("'it'''", "'''it''''")
  assert.deepEqual(Object.fromEntries(tomlLines(text)), {
    a: 2,
    list: 5,
    't one': 9,
    't one.two': 9,
    't one.two.k': 10,
    't one.two.k.l': 10,
  })
})

test('a value is replaced in place', () => {
  assert.equal(set('a.b = 1 # why\nc = 2\n', 'a.b', 'x'), 'a.b = "x" # why\nc = 2\n')
  assert.equal(set('[a]\r\nb = 1\r\n', 'a.b', true), '[a]\r\nb = true\r\n')
  assert.equal(set('a = { b = 1, c = [1, 2] }', 'a.c', 3), 'a = { b = 1, c = 3 }')
})

test('comments inside a replaced list move above it', () => {
  const text = '[a]\n  b = [\n    "x", # the x\n    # none yet\n  ] # tail\n'
  assert.equal(set(text, 'a.b', ['y']), '[a]\n  # the x\n  # none yet\n  b = [ "y" ] # tail\n')
})

test('a new key joins its table, however the table is written', () => {
  assert.equal(set('[a]\nb = 1\n\n[c]\nd = 2\n', 'a.x', 9), '[a]\nb = 1\nx = 9\n\n[c]\nd = 2\n')
  assert.equal(set('[a]\n\n[c]\n', 'a.x', 9), '[a]\nx = 9\n\n[c]\n')
  assert.equal(set('[a]\n\tb = """\n1"""', 'a.x', 9), '[a]\n\tb = """\n1"""\n\tx = 9\n')
  assert.equal(set('a = { b = 1 }\n', 'a.x', 9), 'a = { b = 1, x = 9 }\n')
  assert.equal(set('a = {}\n', 'a.x', 9), 'a = { x = 9 }\n')
  assert.equal(set('a.b = 1\nz = 1\n', 'a.x', 9), 'a.b = 1\na.x = 9\nz = 1\n')
  assert.equal(set('[a]\nb.c = 1\n[d]\n', 'a.b.x', 9), '[a]\nb.c = 1\nb.x = 9\n[d]\n')
  assert.equal(set('[a.b]\nc = 1\n', 'a.x', 9), '[a.b]\nc = 1\n\n[a]\nx = 9\n')
  assert.equal(set('z = 1', 'a.x', 9), 'z = 1\n\n[a]\nx = 9\n')
  assert.equal(set('', 'a.x', 9), '[a]\nx = 9\n')
})

test('if no way of writing means exactly the change, nothing is returned', () => {
  assert.equal(set('a = 1\n', 'a.x', 9), undefined)
  assert.equal(set('[[a]]\nb = 1\n', 'a.x', 9), undefined)
  assert.equal(set('not toml', 'a.x', 9), undefined)
})

test('a key is removed with its own line and nothing else', () => {
  assert.equal(remove('# top\n[a]\nb = 1 # one\nc = [\n 1,\n]\n', 'a.b'), '# top\n[a]\nc = [\n 1,\n]\n')
  assert.equal(remove('[a]\nb = 1\nc = [\n 1,\n]', 'a.c'), '[a]\nb = 1\n')
  assert.deepEqual(read(remove('a = { b = 1, c = 2 }', 'a.b')), { a: { c: 2 } })
  assert.deepEqual(read(remove('a = { b = 1, c = 2 }', 'a.c')), { a: { b: 1 } })
  assert.equal(remove('a = 1\n', 'b.c'), 'a = 1\n')
})

const name = fc.constantFrom('a', 'b', 'type', 'x_1')
const value = fc.oneof(
  fc.string({ unit: fc.constantFrom('a', '"', "'", '\\', '#', '=', '[', '}', '\n', '\u007f', '\u001b', 'é', ' ') }),
  fc.integer({ min: -5, max: 9_999_999 }),
  fc.boolean(),
  fc.array(fc.string({ unit: fc.constantFrom('a', ',', ']', '"', '#') })),
)
const document = fc.dictionary(name, fc.oneof(value, fc.dictionary(name, fc.oneof(value, fc.dictionary(name, value)))))

test('whatever the file, setting a key changes that key only, and a second time nothing', () => {
  fc.assert(
    fc.property(document, fc.tuple(name, name), value, (tree, path, to) => {
      const text = stringify(tree)
      const edited = setInToml(text, path, to)
      const section = tree[path[0]]
      const isTable = typeof section === 'object' && !Array.isArray(section)
      const isWhole = isTable && typeof section[path[1]] === 'object' && !Array.isArray(section[path[1]])
      // A value does not replace a table, nor a table a value.
      if (isWhole || (section !== undefined && !isTable)) return assert.equal(edited, undefined)
      assert.ok(edited !== undefined, text)
      const expected = { ...tree, [path[0]]: { ...(isTable ? section : {}), [path[1]]: to } }
      assert.deepEqual(read(edited), read(stringify(expected)))
      assert.equal(setInToml(edited, path, to), edited)
    }),
    { numRuns: 500 },
  )
})
