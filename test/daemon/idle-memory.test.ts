import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { collectWhenIdle } from '../../src/daemon/lazy-services.ts'

/** A heap that grows and is collected; checks are counted by the calls of `isIdle`. */
function heap(t: TestContext, options: { idle: boolean }) {
  const looked = new EventTarget()
  const state = { used: 100, collected: 0, idle: options.idle }
  const tidy = collectWhenIdle({
    everyMs: 1,
    isIdle: () => {
      setImmediate(() => looked.dispatchEvent(new Event('look')))
      return state.idle
    },
    heap: () => state.used,
    collect: () => {
      state.collected += 1
      state.used = 110
    },
  })
  t.after(() => tidy[Symbol.dispose]())
  // Its own timer does not keep a process alive, and neither does an event.
  const alive = setInterval(() => {}, 1_000)
  t.after(() => clearInterval(alive))
  const look = () => once(looked, 'look')
  return { state, look }
}

test('what work has left is collected once nobody works, and not again before there is more', async t => {
  const { state, look } = heap(t, { idle: false })
  state.used = 400
  for (let n = 0; n < 3; n += 1) await look()
  assert.equal(state.collected, 0, 'not while somebody works')
  state.idle = true
  for (let n = 0; n < 5; n += 1) await look()
  assert.equal(state.collected, 1, 'once')
  state.used = 120
  for (let n = 0; n < 3; n += 1) await look()
  assert.equal(state.collected, 1, 'a little more is not worth it')
  state.used = 300
  for (let n = 0; n < 3; n += 1) await look()
  assert.equal(state.collected, 2)
})

test('the real collector gives back what is not held any more', async t => {
  const alive = setInterval(() => {}, 1_000)
  t.after(() => clearInterval(alive))
  const { promise: given, resolve } = Promise.withResolvers<void>()
  const before = process.memoryUsage().heapTotal
  let held: object[] | undefined = Array.from({ length: 1_000_000 }, (_, n) => ({ n }))
  const grown = process.memoryUsage().heapTotal - before
  assert.ok(grown > 30_000_000, `${grown} bytes more for ${held.length} objects`)
  held = undefined
  const isBack = () => process.memoryUsage().heapTotal - before < grown / 4
  const looking = setInterval(() => isBack() && resolve(), 20)
  t.after(() => clearInterval(looking))
  // The baseline is the heap at the beginning: it must grow before anything is collected.
  using _tidy = collectWhenIdle({ everyMs: 5, isIdle: () => true, heap: growing() })
  await given
  assert.ok(isBack())
})

function growing(): () => number {
  let size = 1
  return () => {
    size *= 2
    return size
  }
}
