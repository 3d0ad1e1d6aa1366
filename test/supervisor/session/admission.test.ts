import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { AdmissionQueue } from '../../../src/supervisor/session/admission.ts'

const quiet = { waits: () => undefined, next: () => undefined }

test('as many sessions as allowed enter at once, and the rest in the order they came', async () => {
  const admission = new AdmissionQueue()
  const calls: string[] = []
  const enter = (id: string) =>
    admission.enter({ id, max: 2, waits: () => calls.push(`${id} waits`), next: () => calls.push(`${id} next`) })
  const [a, b] = [await enter('a'), await enter('b')]
  const [c, d] = [enter('c'), enter('d')]
  assert.deepEqual(calls, ['c waits', 'c next', 'd waits'])
  a?.()
  a?.() // leaving twice frees one place only
  const leaveC = await c
  assert.equal(calls.at(-1), 'd next')
  b?.()
  assert.ok(leaveC && (await d))
})

test('a session that is withdrawn gets no place, and the next one moves up', async () => {
  const admission = new AdmissionQueue()
  const leave = await admission.enter({ id: 'a', max: 1, ...quiet })
  const b = admission.enter({ id: 'b', max: 1, ...quiet })
  let next = false
  const c = admission.enter({ id: 'c', max: 1, waits: () => undefined, next: () => (next = true) })
  admission.withdraw('b')
  assert.equal(await b, undefined)
  assert.equal(next, true)
  leave?.()
  assert.ok(await c)
})

test('a session that waits for its allowance enters once the clock has renewed that, although nobody leaves', async t => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const admission = new AdmissionQueue()
  let allowed = 0
  const waits: string[] = []
  let entered = false
  const entering = admission.enter({
    ...{ id: 'a', max: 2, account: 'a-1', allowed: () => allowed, next: () => undefined },
    waits: what => waits.push(what),
  })
  void entering.then(() => {
    entered = true
  })
  t.mock.timers.tick(15_000)
  await new Promise(setImmediate)
  assert.deepEqual([waits, entered], [['allowance'], false])
  allowed = 1
  t.mock.timers.tick(15_000)
  await new Promise(setImmediate)
  assert.equal(entered, true)
})

test('a session that waits for its allowance enters once the settings let it: they are read again while it waits', async t => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const admission = new AdmissionQueue()
  let allowed = 0
  const refresh = async () => {
    allowed = 1
  }
  const entering = admission.enter({ id: 'a', max: 2, account: 'a-1', allowed: () => allowed, refresh, ...quiet })
  assert.equal(allowed, 0)
  t.mock.timers.tick(15_000)
  assert.ok(await entering)
})

test('whatever arrives, leaves or is withdrawn, there are never too many inside, and nobody waits while there is a place', async () => {
  const step = fc.oneof(
    fc.record({ come: fc.integer({ min: 1, max: 3 }) }),
    fc.record({ leave: fc.nat(20) }),
    fc.record({ withdraw: fc.nat(20) }),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async steps => {
      const admission = new AdmissionQueue()
      const inside = new Map<string, { max: number; leave: () => void }>()
      const waiting = new Map<string, number>()
      let count = 0
      for (const action of steps) {
        if ('come' in action) {
          const id = String(count++)
          waiting.set(id, action.come)
          void admission.enter({ id, max: action.come, ...quiet }).then(leave => {
            waiting.delete(id)
            if (!leave) return
            inside.set(id, { max: action.come, leave })
            assert.ok(inside.size <= action.come, 'too many')
          })
        } else if ('leave' in action) {
          const id = [...inside.keys()][action.leave % (inside.size || 1)]
          if (id !== undefined) inside.get(id)?.leave()
          if (id !== undefined) inside.delete(id)
        } else {
          const id = [...waiting.keys()][action.withdraw % (waiting.size || 1)]
          if (id !== undefined) admission.withdraw(id)
        }
        await new Promise(setImmediate)
        const head = [...waiting.values()][0]
        if (head !== undefined) assert.ok(inside.size >= head, 'a place was free')
      }
    }),
  )
})
