import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Alarm, KeyedWorker } from '../../src/base/keyed-worker.ts'

const never = () => assert.fail('nothing failed')

test('a key is worked on once at a time, and every wake is followed by work that began after it', async () => {
  const step = fc.record({ key: fc.constantFrom('a', 'b'), takes: fc.nat({ max: 3 }), pause: fc.nat({ max: 2 }) })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 20 }), async steps => {
      let now = 0
      const atWork = new Set<string>()
      const began: Record<string, number> = {}
      const ticks = async (count: number) => {
        for (let tick = 0; tick < count; tick += 1) await Promise.resolve()
      }
      let takes = 0
      const worker = new KeyedWorker({
        async work(key: string) {
          assert.ok(!atWork.has(key), `${key} is worked on twice at once`)
          atWork.add(key)
          began[key] = ++now
          await ticks(takes)
          atWork.delete(key)
          return undefined
        },
        failed: never,
      })
      const woken: Promise<void>[] = []
      for (const { key, pause, ...rest } of steps) {
        takes = rest.takes
        const at = ++now
        woken.push(worker.wake(key).then(() => assert.ok((began[key] ?? 0) > at, `the wake of ${key} was overlooked`)))
        await ticks(pause)
      }
      await Promise.all(woken)
      await worker.close()
    }),
  )
})

test('work that is aborted may be woken again at once, and ended work stays ended', async () => {
  const signals: AbortSignal[] = []
  const worker = new KeyedWorker({
    work: (_: string, signal) => {
      signals.push(signal)
      return new Promise<undefined>(resolve => signal.addEventListener('abort', () => resolve(undefined)))
    },
    failed: never,
  })
  void worker.wake('a')
  await Promise.resolve()
  worker.abort('a')
  void worker.wake('a')
  await new Promise(setImmediate)
  assert.deepEqual(
    signals.map(({ aborted }) => aborted),
    [true, false],
  )
  void worker.wake('a')
  await worker.end('a')
  await new Promise(setImmediate)
  assert.equal(signals.length, 2, 'the wake before the end was forgotten with it')
  await worker.close()
  await worker.wake('a')
  assert.equal(signals.length, 2, 'a closed worker begins nothing')
})

test('what fails is tried again after the time that `failed` returns, and what is due after the time that `work` returns', async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const seen: string[] = []
  const worker = new KeyedWorker({
    async work(key: string) {
      seen.push(key)
      if (seen.length === 1) throw new Error('once')
      if (seen.length === 3) resolve()
      return seen.length === 2 ? 0 : undefined
    },
    failed: (key, error) => {
      seen.push(`${key} failed: ${(error as Error).message}`)
      return 0
    },
  })
  await worker.wake('a')
  assert.deepEqual(seen, ['a', 'a failed: once'])
  await promise
  assert.deepEqual(seen.slice(2), ['a'])
  await worker.close()
})

test('keys are told apart by their id, and the newest of equal keys is worked on', async () => {
  const seen: unknown[] = []
  const worker = new KeyedWorker<{ name: string; note: string }>(
    { work: async key => void seen.push(key.note), failed: never },
    ({ name }) => name,
  )
  void worker.wake({ name: 'x', note: 'old' })
  await worker.wake({ name: 'x', note: 'new' })
  assert.deepEqual(seen, ['new'])
  await worker.close()
})

test('an alarm looks when it is poked, goes on after a failure, and is silent once it is closed', async () => {
  let looks = 0
  const failures: unknown[] = []
  const alarm = new Alarm({
    async look() {
      looks += 1
      if (looks === 1) throw new Error('no disk')
      return undefined
    },
    failed: error => void failures.push(error),
  })
  await alarm.poke()
  await alarm.poke()
  assert.deepEqual([looks, failures.length, alarm.closed], [2, 1, false])
  await alarm.close()
  await alarm.poke()
  assert.deepEqual([looks, alarm.closed], [2, true])
})
