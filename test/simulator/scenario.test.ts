import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { AppError } from '../../src/base/errors.ts'
import { parseScenario, readScenarioFile } from '../../src/simulator/read-scenario.ts'
import { tempDir } from '../support/world.ts'

const EXAMPLES = join(import.meta.dirname, '../../examples')

/** What is wrong with a scenario, as `line key: problem`. */
function complaint(text: string): string {
  try {
    parseScenario(text, 'x.yaml')
  } catch (error) {
    assert.ok(error instanceof AppError, String(error))
    assert.equal(error.code, 'scenario_invalid')
    assert.equal(error.exit, 2)
    assert.ok(error.message.startsWith('x.yaml:'))
    return `${error.detail['line']} ${error.detail['key']}: ${error.detail['problem']}`
  }
  return 'nothing'
}

const turns = (text: string) => `conversations:\n  - match: hi\n    turns:\n${text}`

test('a mistake in a scenario is told with its line, its key and what is wrong', async t => {
  const cases: [string, string, RegExp][] = [
    [
      'a key that does not exist',
      turns('      - text: a\n        tols: []\n'),
      /^5 conversations\[0\]\.turns\[0\]\.tols: there is no such key$/,
    ],
    ['an unknown key at the top', 'converations: []\n', /^1 conver/],
    ['a missing key', 'conversations:\n  - name: a\n    match: hi\n', /^2 conversations\[0\]\.turns: is missing/],
    [
      'a wrong type',
      turns('      - text: a\n        repeat: often\n'),
      /^5 conversations\[0\]\.turns\[0\]\.repeat: .*number/,
    ],
    [
      'an unknown fault',
      turns('      - text: a\n      - fault: meteor\n'),
      /^5 conversations\[0\]\.turns\[1\]\.fault.*"meteor"/,
    ],
    ['a fault without a needed key', turns('      - fault: { kind: http }\n'), /^4 .*fault\.status: is missing/],
    [
      'a wrong key of a fault',
      turns('      - fault: { kind: reset, afer: 3 }\n'),
      /^4 .*fault\.afer: there is no such key/,
    ],
    [
      'a moment that is none',
      turns('      - fault: { kind: limit, resets: soon }\n'),
      /^4 .*fault\.resets: is not a time/,
    ],
    [
      'a regular expression that is none',
      'conversations:\n  - match:\n      regex: "("\n    turns: [{ text: a }]\n',
      /^3 conversations\[0\]\.match\.regex: is not a regular expression/,
    ],
    [
      'a condition that does not exist',
      turns('      - when: { tool_result: a }\n        text: a\n'),
      /^4 .*when\.tool_result: there is no such key/,
    ],
    [
      'a deep mistake',
      turns(
        '      - text: a\n      - either:\n          - when: { tool_failed: true }\n            turns:\n              - text: 3\n',
      ),
      /^8 .*either\[0\]\.turns\[0\]\.text: .*string/,
    ],
    [
      'two tools in one call',
      turns('      - tools:\n          - Read: {}\n            Bash: {}\n'),
      /^5 .*tools\[0\]: holds 2 keys/,
    ],
    [
      'an input that is no map',
      turns('      - tools:\n          - Read: a.txt\n'),
      /^5 .*tools\[0\]: the input of Read is not a map/,
    ],
    ['a tool name with a space', turns('      - tools:\n          - "Rm rf": {}\n'), /^5 .*"Rm rf" is not a tool name/],
    ['a turn with nothing in it', turns('      - usage: { output_tokens: 3 }\n'), /^4 .*turns\[0\]: is empty/],
    ['thinking without an answer', turns('      - thinking: hm\n'), /^4 .*thinking: stands alone/],
    [
      'a choice beside an answer',
      turns('      - text: a\n        either: [{ text: b }]\n'),
      /^4 .*turns\[0\]: holds either beside an answer/,
    ],
    [
      'a fault that hides what follows',
      turns('      - fault: overloaded\n      - text: a\n'),
      /^4 .*turns\[0\]\.fault: never ends/,
    ],
    [
      'a fault that hides its own answer',
      turns('      - when: { tool_failed: true }\n        fault: overloaded\n        text: a\n'),
      /^5 .*turns\[0\]\.fault: never ends/,
    ],
    ['YAML that cannot be parsed', 'conversations:\n  - match: "hi\n', /^\d YAML: /],
    ['a key given twice', 'conversations: []\nconversations: []\n', /^2 YAML: .*unique/],
    ['two documents', `${turns('      - text: a\n')}---\na: 1\n`, /^\d YAML: /],
    ['an alias bomb', bomb(), /YAML: .*alias/],
    ['nesting without end', '['.repeat(100_000), /YAML: /],
    ['nothing at all', '', /^1 the file: /],
    ['a list in place of a map', '- a\n', /^1 the file: /],
  ]
  for (const [name, text, expected] of cases) {
    await t.test(name, () => assert.match(complaint(text), expected))
  }
})

/** Nine levels of nine aliases each: 387 million strings when written out. */
function bomb(): string {
  const levels = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i']
  const lines = levels.map((name, at) => {
    const inner = at === 0 ? '"x"' : `*${levels[at - 1]}`
    return `${name}: &${name} [${Array(9).fill(inner).join(', ')}]`
  })
  return `${lines.join('\n')}\n`
}

test('a scenario that cannot be read names the file and the reason', t => {
  const dir = tempDir(t)
  mkdirSync(join(dir, 'folder'))
  writeFileSync(join(dir, 'huge.yaml'), '#'.repeat(4_000_001))
  writeFileSync(join(dir, 'binary.yaml'), Buffer.from([0xff, 0xfe, 0x00, 0x80]))
  const cases = {
    'absent.yaml': /it does not exist/,
    folder: /not a file/,
    'huge.yaml': /4000001 bytes/,
    'binary.yaml': /not text/,
  }
  for (const [name, problem] of Object.entries(cases)) {
    assert.throws(
      () => readScenarioFile(join(dir, name)),
      (error: unknown) => {
        assert.ok(error instanceof AppError)
        assert.equal(error.code, 'scenario_unreadable')
        assert.ok(error.message.includes(name))
        assert.match(error.message, problem)
        return true
      },
    )
  }
})

test('every example is a valid scenario with a description', () => {
  const files = readdirSync(EXAMPLES).filter(name => name.endsWith('.yaml'))
  assert.ok(files.length >= 3)
  for (const file of files) assert.ok(readScenarioFile(join(EXAMPLES, file)).description, file)
})

test('short forms mean the same as long ones', () => {
  const [short, long] = [
    'conversations: [{ match: hi, turns: [{ text: a, latency: 5, tools: [{ Read: { file_path: b } }] }, { fault: reset }] }]',
    'conversations: [{ match: { contains: hi }, turns: [{ text: a, latency: { first_ms: 5 }, tools: [{ name: Read, input: { file_path: b } }] }, { fault: { kind: reset } }] }]',
  ].map(text => parseScenario(text, 'x.yaml'))
  assert.deepEqual(short, long)
  assert.deepEqual(short?.conversations[0]?.turns[0]?.tools, [{ name: 'Read', input: { file_path: 'b' } }])
})
