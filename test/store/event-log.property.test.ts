import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { StoredEvent } from '../../src/domain/event.ts'
import type { Store } from '../../src/store/store.ts'
import { DATABASES, note, takeUntil, textOf, upTo } from './databases.ts'

/** A writer's next step. A batch is one append; `many` are single appends that are not awaited in between. */
type Step =
  | { do: 'batch'; size: number }
  | { do: 'many'; size: number }
  | { do: 'commit'; parts: number[]; pause: boolean }
  | { do: 'undo'; parts: number[]; pause: boolean }
  | { do: 'pause' }

const size = fc.integer({ min: 0, max: 6 })
const parts = fc.array(size, { maxLength: 4 })
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constant('batch' as const), size }),
  fc.record({ do: fc.constant('many' as const), size }),
  fc.record({ do: fc.constant('commit' as const), parts, pause: fc.boolean() }),
  fc.record({ do: fc.constant('undo' as const), parts, pause: fc.boolean() }),
  fc.record({ do: fc.constant('pause' as const) }),
)
const writers = fc.array(fc.array(step, { maxLength: 8 }), { minLength: 1, maxLength: 4 })

for (const { name, open } of DATABASES) {
  test(`${name}: whatever writers do at once, the log is gapless, complete and in order, and followers see exactly the log`, async t => {
    const store = await open(t, { pollMs: 1_000_000 })
    let runs = 0
    const holds = fc.asyncProperty(writers, fc.nat({ max: 30 }), async (scripts, behind) => {
      const base = (await store.events({ tail: 1 }))[0]?.id ?? 0
      const end = `end of run ${++runs}`
      const from = Math.max(0, base - behind)
      const early = takeUntil(store.follow(from), end)
      const acknowledged = (await Promise.all(scripts.map((steps, index) => perform(store, `w${index}`, steps)))).flat()
      const late = takeUntil(store.follow(from), end)
      await store.append([note(end)])

      const log = await store.events({ after: base })
      assert.deepEqual(
        log.map(event => event.id),
        upTo(log.length).map(number => base + number),
        'gapless',
      )
      const byId = (a: StoredEvent, b: StoredEvent) => a.id - b.id
      assert.deepEqual(log.slice(0, -1), acknowledged.flat().toSorted(byId), 'exactly what was acknowledged')
      for (const events of acknowledged)
        assert.deepEqual(
          log.filter(event => events.some(one => one.id === event.id)),
          events,
        )
      for (const index of scripts.keys()) {
        const own = log.map(textOf).filter(text => text.startsWith(`w${index} `))
        assert.deepEqual(own, own.toSorted(), 'each writer in its own order')
      }
      const expected = await store.events({ after: from })
      assert.deepEqual(await early, expected, 'followed from before')
      assert.deepEqual(await late, expected, 'followed from after')
    })
    await fc.assert(holds, { numRuns: 150 })
  })
}

/** Runs one writer's steps and returns the events of every acknowledged write. */
async function perform(store: Store, writer: string, steps: Step[]): Promise<StoredEvent[][]> {
  let count = 0
  const notes = (size: number) => upTo(size).map(() => note(`${writer} ${String(++count).padStart(5, '0')}`))
  const acknowledged: StoredEvent[][] = []
  for (const step of steps) {
    if (step.do === 'pause') await turn()
    else if (step.do === 'batch') acknowledged.push(await store.append(notes(step.size)))
    else if (step.do === 'many')
      acknowledged.push(...(await Promise.all(notes(step.size).map(one => store.append([one])))))
    else {
      const work = store.transaction(async tx => {
        const stored: StoredEvent[] = []
        for (const part of step.parts) {
          stored.push(...(await store.append(notes(part), tx)))
          if (step.pause) await turn()
        }
        if (step.do === 'undo') throw new Undo()
        return stored
      })
      if (step.do === 'commit') acknowledged.push(await work)
      else await assert.rejects(work, Undo)
    }
  }
  return acknowledged
}

class Undo extends Error {}

function turn(): Promise<void> {
  return new Promise(resolve => setImmediate(resolve))
}
