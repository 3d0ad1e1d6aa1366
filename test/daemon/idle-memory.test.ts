import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'
import { collectWhenIdle, openYoungHeap } from '../../src/daemon/lazy-services.ts'

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

test('the young heap grows from 2 MB to 8 MB when work begins, and no further', async () => {
  setFlagsFromString('--semi-space-growth-factor=1')
  const bytes = () => getHeapSpaceStatistics().find(space => space.space_name === 'new_space')?.space_size ?? 0
  const kept: object[][] = []
  const work = async (slices: number) => {
    for (let at = 0; at < slices; at += 1) {
      kept.push(Array.from({ length: 2_000 }, (_, index) => ({ index, text: `${index}` })))
      if (kept.length > 20) kept.shift()
      await nextTurn()
    }
  }
  await work(300)
  const before = bytes()
  using heap = openYoungHeap()
  await work(300)
  assert.equal(bytes(), before)
  heap.grow()
  await work(300)
  const grown = bytes()
  heap.grow()
  await work(600)
  assert.ok(grown >= 8 * 2 ** 20 && grown <= 16 * 2 ** 20, `${grown}`)
  assert.equal(bytes(), grown)
})
