import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { AppError } from '../../src/base/errors.ts'
import { parseScenario } from '../../src/simulator/read-scenario.ts'

const DOCS = readFileSync(join(import.meta.dirname, '../../docs/simulator.md'), 'utf8')

/** The names in the first column of the table whose header starts with `header`. */
function firstColumn(header: string): string[] {
  const lines = DOCS.split('\n')
  const start = lines.findIndex(line => line.startsWith(`| ${header} |`))
  assert.ok(start >= 0, header)
  const rows = lines.slice(start + 2)
  return rows
    .slice(
      0,
      rows.findIndex(line => !line.startsWith('|')),
    )
    .flatMap(line => [...(line.split('|')[1] ?? '').matchAll(/`(\w+)`/g)].map(match => match[1] ?? ''))
}

/** Whether the schema accepts a key at a place: only an unknown key is reported with its name. */
function knows(scenario: object, key: string): boolean {
  try {
    parseScenario(JSON.stringify({ conversations: [scenario] }), 'x')
    return true
  } catch (error) {
    assert.ok(error instanceof AppError)
    return !(String(error.detail['key']).endsWith(key) && error.detail['problem'] === 'there is no such key')
  }
}

test('every key that the page lists exists', () => {
  const turns = [{ text: 'a' }]
  const lists: [string, (key: string) => object][] = [
    ['key of `match`', key => ({ match: { [key]: 'a' }, turns })],
    ['key of a conversation', key => ({ turns, [key]: 'a' })],
    ['key of a turn', key => ({ turns: [{ text: 'a', [key]: 'a' }] })],
    ['key of a condition', key => ({ turns: [{ text: 'a', when: { [key]: 'a' } }] })],
  ]
  for (const [header, scenario] of lists) {
    const keys = firstColumn(header)
    assert.ok(keys.length >= 4, header)
    for (const key of keys) assert.ok(knows(scenario(key), key), `${header}: ${key}`)
    assert.ok(!knows(scenario('absent'), 'absent'), header)
  }
})

test('every kind of fault is on the page, and only those', () => {
  const kinds = firstColumn('kind')
  for (const kind of kinds) {
    const fault = kind === 'http' ? { kind, status: 418 } : kind
    assert.ok(parseScenario(JSON.stringify({ conversations: [{ turns: [{ fault }] }] }), 'x'), kind)
  }
  const source = readFileSync(join(import.meta.dirname, '../../src/simulator/wires/wire.ts'), 'utf8')
  const known = [...source.matchAll(/case '(\w+)':/g)].map(match => match[1] ?? '')
  assert.deepEqual(kinds.toSorted(), known.toSorted())
})

test('the scenario on the page is a scenario', () => {
  const [yaml = ''] = [...DOCS.matchAll(/```yaml\n([\s\S]*?)```/g)].map(match => match[1] ?? '')
  assert.equal(parseScenario(yaml, 'docs').conversations[0]?.turns.length, 2)
})
