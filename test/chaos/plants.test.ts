import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { INVARIANTS, type InvariantName } from '../../scripts/chaos/invariants/violation.ts'
import { PLANTS } from '../../scripts/chaos/plants/all.ts'
import { applyPatch } from '../../scripts/chaos/plants/apply-patch.ts'
import { catchPlant, caughtBy } from '../../scripts/chaos/plants/catch-plant.ts'
import type { Patch, Plant } from '../../scripts/chaos/plants/plant.ts'
import { copySource } from '../../scripts/chaos/plants/source-copy.ts'
import { plantTable } from '../../scripts/chaos/plants/table.ts'
import { RULES, readResults } from '../../scripts/chaos/results.ts'
import { ROOT } from '../../scripts/places.ts'
import { aHistory } from './a-history.ts'

test('every planted mistake matches the current source, and Node can run the result', () => {
  for (const { patches } of PLANTS) {
    const texts = new Map<string, string>()
    for (const patch of patches) {
      const text = texts.get(patch.file) ?? readFileSync(join(ROOT, patch.file), 'utf8')
      texts.set(patch.file, applyPatch(text, patch))
    }
  }
})

test('every invariant has a planted mistake that violates it, and no two mistakes share a name', () => {
  const broken = new Set(PLANTS.flatMap(({ breaks }) => breaks))
  const unproven = (Object.keys(INVARIANTS) as InvariantName[]).filter(name => !broken.has(name))
  assert.deepEqual(unproven, [])
  assert.equal(new Set(PLANTS.map(({ id }) => id)).size, PLANTS.length)
})

test('a promise that is new or gone makes new rules, because earlier rounds were judged without it, and has a row on the page', () => {
  const judged: Record<number, InvariantName[]> = {
    2: [
      ...(['ends-once', 'tool-once', 'no-work-lost', 'no-orphan', 'no-call-while-gated', 'no-question-lost'] as const),
      ...(['one-writer', 'store-whole', 'told-once', 'merged-once', 'no-surprise'] as const),
    ],
  }
  assert.deepEqual(
    Object.keys(INVARIANTS),
    judged[RULES],
    'count RULES up in scripts/chaos/results.ts, and list its promises here',
  )
  const page = readFileSync(join(ROOT, 'docs', 'reliability.md'), 'utf8')
  const rows = page
    .split('## The promises')[1]
    ?.split('\n## ')[0]
    ?.match(/^\| \*\*/gm)
  assert.equal(
    rows?.length,
    Object.keys(INVARIANTS).length - 1,
    'every promise but no-surprise has a row of "The promises"',
  )
})

test('the reliability page lists the results of the planted mistakes, and all of them were caught', () => {
  const results = readResults(join(ROOT, 'bench', 'chaos.json'))
  const page = readFileSync(join(ROOT, 'docs', 'reliability.md'), 'utf8')
  assert.ok(page.includes(plantTable(results)), 'npm run chaos -- --plant all writes it')
  const caughtBy = (id: string) => (results.planted[id]?.by ?? '').split(', ')
  const missed = PLANTS.filter(({ id, breaks }) => !breaks.some(name => caughtBy(id).includes(name))).map(
    ({ id }) => id,
  )
  assert.deepEqual(missed, [])
})

const A_PLANT: Plant = {
  id: 'one',
  hurts: '',
  breaks: ['one-writer', 'tool-once'],
  patches: [],
  round: seed => ({ seed, sessions: [], faults: [] }),
}

const TEXT = `export function twice(x: number) { return x + x }
const LIMIT = 3
export class Door {
  #open = false
  shut() { return LIMIT + 1 }
  #lock(): number { return LIMIT + 2 }
}
function shut() { return LIMIT }
`
const at = (symbol: string, find: string, put: string) => ({ file: 'a.ts', symbol, find, put })

test('a patch changes the named function and not the same text elsewhere', () => {
  const patched = (...args: Parameters<typeof at>) => applyPatch(TEXT, at(...args))
  assert.equal(
    patched('LIMIT', '3', '$&4'),
    TEXT.replace('LIMIT = 3', () => 'LIMIT = $&4'),
  )
  assert.equal(
    patched('shut', 'LIMIT', '0'),
    TEXT.replace('function shut() { return LIMIT }', 'function shut() { return 0 }'),
  )
  assert.equal(patched('Door.shut', 'LIMIT', '0'), TEXT.replace('LIMIT + 1', '0 + 1'))
  assert.equal(patched('Door.#lock', 'LIMIT', '0'), TEXT.replace('LIMIT + 2', '0 + 2'))
  assert.equal(patched('Door.#open', 'false', 'true'), TEXT.replace('false', 'true'))
})

test('a patch that does not match exactly once, changes nothing or cannot be run is refused', () => {
  const refused = (patch: ReturnType<typeof at>, why: RegExp) => assert.throws(() => applyPatch(TEXT, patch), why)
  refused(at('thrice', 'x', 'y'), /a\.ts, thrice: there is no such name/)
  refused(at('twice', 'x + y', 'y'), /stands there 0 times/)
  refused(at('twice', 'x', 'y'), /stands there 3 times/)
  refused(at('LIMIT', '3', '3'), /nothing is changed/)
  refused(at('LIMIT', '3', '3 +'), /cannot be parsed/)
  refused(at('shut', 'return LIMIT', 'enum A { B } return LIMIT'), /enum/)
})

test('a mistake is in the copy of the source while it is planted; if one patch does not match, none is applied', () => {
  using copy = copySource(['src/base'])
  const file = 'src/base/crash-point.ts'
  const text = () => readFileSync(join(copy.root, file), 'utf8')
  const before = text()
  const plantOf = (...patches: Patch[]): Plant => ({ ...A_PLANT, patches })
  const first = { file, symbol: 'crashPoint', find: 'if (!FROM_SOURCE) return', put: 'if (FROM_SOURCE) return' }
  const second = { file, symbol: 'FROM_SOURCE', find: "'.ts'", put: "'.js'" }
  {
    using _planted = copy.plant(plantOf(first, second))
    assert.equal(
      text(),
      before.replace('if (!FROM_SOURCE) return', 'if (FROM_SOURCE) return').replace("'.ts'", "'.js'"),
    )
  }
  assert.equal(text(), before)
  assert.throws(() => copy.plant(plantOf(first, { ...second, find: 'nowhere' })), /stands there 0 times/)
  assert.equal(text(), before)
  assert.equal(readFileSync(join(ROOT, file), 'utf8'), before, 'the checkout itself is never changed')
})

test('a planted mistake is caught by an invariant that it violates and that the same round keeps without it', async () => {
  const seen = (...names: InvariantName[]) => names.map(invariant => ({ invariant, text: '' }))
  assert.deepEqual(caughtBy(A_PLANT, seen('told-once', 'one-writer', 'one-writer')), ['one-writer'])
  const planted: string[] = []
  const copy = {
    root: '/copy',
    plant: () => {
      planted.push('made')
      return { [Symbol.dispose]: () => planted.push('taken back') }
    },
    [Symbol.dispose]: () => undefined,
  }
  /** What each round finds: with the mistake, and without it. */
  const hunted = async (rounds: { with: InvariantName[]; without: InvariantName[] }[]) => {
    const play = async (plan: ReturnType<Plant['round']>, source?: string) => {
      const round = rounds[plan.seed]
      const names = (source === '/copy' ? round?.with : round?.without) ?? []
      return { plan, history: aHistory(), violations: seen(...names), ms: 1 }
    }
    const hunt = { copy, plain: new Map(), seed: 0, rounds: rounds.length, play, played: () => undefined }
    return catchPlant(A_PLANT, hunt)
  }
  assert.deepEqual(await hunted([{ with: ['told-once'], without: [] }]), { rounds: 1, by: [] })
  const second = { with: ['tool-once', 'one-writer'] as InvariantName[], without: ['one-writer'] as InvariantName[] }
  const anyway = { with: ['one-writer'] as InvariantName[], without: ['one-writer'] as InvariantName[] }
  assert.deepEqual(await hunted([anyway, second]), { rounds: 2, by: ['tool-once'] })
  assert.deepEqual(planted, ['made', 'taken back', 'made', 'taken back', 'made', 'taken back'])
})
