import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { applyEdits, modify } from 'jsonc-parser'
import {
  type Addition,
  addElements,
  NotEditable,
  parseValue,
  removeElements,
} from '../../../../src/cli/commands/hooks/edit-json.ts'

const OURS: Addition[] = ['PreToolUse', 'Stop', 'SessionStart'].map(event => ({
  path: ['hooks', event],
  value: { hooks: [{ type: 'command', command: '/h/run', args: ['claude', event] }] },
}))

const isOurs = (value: unknown) => (value as { command?: string } | null)?.command === '/h/run'

const remove = (text: string, before: string) => removeElements(text, { top: 'hooks', isOurs, before })

const TEXTS: Record<string, string> = {
  'an empty object': '{}',
  'an empty object with a line': '{\n}\n',
  'a minified file': '{"model":"opus","hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"mine"}]}]}}',
  'an indented file': '{\n  "model": "opus",\n  "env": { "A": "1" }\n}\n',
  tabs: '{\n\t"model": "opus",\n\t"hooks": {\n\t\t"Stop": []\n\t}\n}\n',
  'Windows line endings': '{\r\n    "model": "opus",\r\n    "hooks": {}\r\n}\r\n',
  comments:
    '// mine\n{\n  // above\n  "model": "opus", // beside\n  "env": {} // the last\n  /* below */\n}\n// the end\n',
  'a trailing comma': '{\n  "model": "opus", // beside\n}\n',
  'a byte order mark': '\uFEFF{\n  "model": "opus"\n}',
  'a comment in an empty object': '{ /* nothing yet */ }',
  'hooks of others':
    '{\n  "hooks": {\n    "PreToolUse": [\n      { "matcher": "Bash", "hooks": [{ "type": "command", "command": "mine" }] } // mine\n    ],\n    "Stop": [{ "hooks": [] }]\n  },\n  "model": "opus"\n}\n',
}

for (const [name, text] of Object.entries(TEXTS)) {
  test(`${name}: elements are added beside what is there, and removed without a trace`, () => {
    const added = addElements(text, OURS)
    const value = parseValue(added) as { hooks: Record<string, unknown[]> }
    for (const { path, value: ours } of OURS) assert.deepEqual(value.hooks[path[1] ?? '']?.at(-1), ours)
    assert.equal(remove(added, text), text)
    if (text.includes('\r\n')) assert.doesNotMatch(added, /[^\r]\n/)
  })
}

test('a comment stays beside what it is about', () => {
  assert.match(addElements(TEXTS['comments'] ?? '', OURS), /"env": \{\}, \/\/ the last\n {2}"hooks": \{\n/)
})

test('a file that is not plainly right is refused with the reason', () => {
  const refused: [string, RegExp][] = [
    ['{ "a": 1', /line 1, CloseBraceExpected/],
    ['{\n  "a": 1\n  "b": 2\n}', /line 3, CommaExpected/],
    ['[]', /not a JSON object/],
    ['{ "hooks": [] }', /"hooks" is not an object/],
    ['{ "hooks": { "PreToolUse": {} } }', /"hooks.PreToolUse" is not a list/],
    ['{ "hooks": {}, "hooks": {} }', /has "hooks" twice/],
    [`{ "a": ${'['.repeat(200_000)}${']'.repeat(200_000)} }`, /nested too deeply/],
  ]
  for (const [text, problem] of refused)
    assert.throws(
      () => addElements(text, OURS),
      (error: Error) => error instanceof NotEditable && problem.test(error.message),
      text.slice(0, 40),
    )
})

test('a hook that the person put into our group stays', () => {
  const text = addElements('{}\n', OURS.slice(0, 1))
  const shared = text.replace(']\n          }', ']\n          },\n          { "type": "command", "command": "mine" }')
  assert.notEqual(shared, text)
  assert.deepEqual(parseValue(remove(shared, '{}\n')), {
    hooks: { PreToolUse: [{ hooks: [{ type: 'command', command: 'mine' }] }] },
  })
})

/** Text that the person writes in place of another text: it says nothing about our elements. */
const anEdit = fc.record({
  marker: fc.constantFrom('"opus"', '"model"', '// mine', '"mine"', '// the end', '/* below */', '"1"', '// above'),
  text: fc.constantFrom('"x"', '"a\\"b,}{"', '"[1]"'),
  comment: fc.constantFrom('// changed', '/* {"hooks": [ */ // "', '//'),
})

test('whatever is edited around our elements, removing them leaves exactly the edits', () => {
  fc.assert(
    fc.property(fc.constantFrom(...Object.values(TEXTS)), fc.array(anEdit, { maxLength: 5 }), (text, edits) => {
      const edit = (before: string) =>
        edits.reduce(
          (now, { marker, text: word, comment }) => now.replace(marker, marker.startsWith('"') ? word : comment),
          before,
        )
      assert.equal(remove(edit(addElements(text, OURS)), text), edit(text))
    }),
    { numRuns: 200 },
  )
})

const aChange = fc.record({
  path: fc.constantFrom(
    ['a'],
    ['model'],
    ['hooks', 'PreToolUse', 0],
    ['hooks', 'Other'],
    ['env', 'B'],
    ['hooks', 'Stop', -1],
  ),
  value: fc.constantFrom(1, 'two', undefined, { hooks: [{ command: 'theirs' }] }, [{ hooks: [{ command: 'theirs' }] }]),
})

test('whatever a program changes around our elements, removing them leaves its values', () => {
  fc.assert(
    fc.property(fc.constantFrom(...Object.values(TEXTS)), fc.array(aChange, { maxLength: 6 }), (text, changes) => {
      let now = addElements(text, OURS)
      for (const { path, value } of changes) {
        if (path.length === 3 && value === undefined) continue // the library inserts `undefined`
        const options = { formattingOptions: { insertSpaces: true, tabSize: 2 }, isArrayInsertion: path.length === 3 }
        now = applyEdits(now, safeEdits(now, path, value, options))
      }
      assert.deepEqual(withoutEmpty(parseValue(remove(now, text))), withoutEmpty(withoutOurs(parseValue(now))))
    }),
    { numRuns: 200 },
  )
})

function safeEdits(
  text: string,
  path: readonly (string | number)[],
  value: unknown,
  options: Parameters<typeof modify>[3],
) {
  try {
    return modify(text, [...path], value, options)
  } catch {
    return [] // there is nothing at this path
  }
}

function withoutOurs(value: unknown): unknown {
  if (Array.isArray(value)) return value.filter(each => !isOurs(each)).map(withoutOurs)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, withoutOurs(each)]))
}

/** Which empty lists stay is another test's matter. */
function withoutEmpty(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutEmpty).filter(each => !isEmpty(each))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .map(([name, each]) => [name, withoutEmpty(each)])
      .filter(([, each]) => !isEmpty(each)),
  )
}

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0
}
