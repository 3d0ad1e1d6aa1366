import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { openCountdown, resumesByItself } from '../../../src/cli/live/watch.ts'
import { countdown } from '../../../src/cli/render/format.ts'
import { event, NOON, session } from '../render/sample.ts'

const MINUTE = 60_000

function openTestCountdown(t: TestContext, { ticks }: { ticks: boolean }) {
  t.mock.timers.enable({ apis: ['setInterval', 'Date'], now: NOON })
  const printed: string[] = []
  const prompts: (string | undefined)[] = []
  const shown = { resumes_at: (NOON + 2 * MINUTE) as number | null }
  const deps = {
    screen: {
      ticks,
      print: (lines: string[]) => void printed.push(...lines),
      prompt: (line: string | undefined) => void prompts.push(line),
    },
    id: 's-1',
    fetchSession: async () => {
      return session({ status: 'rate_limited', resumes_at: shown.resumes_at, ended_at: NOON })
    },
  }
  const timer = openCountdown(deps)
  t.after(() => timer[Symbol.dispose]())
  return { timer, printed, prompts, shown, tick: (ms: number) => t.mock.timers.tick(ms) }
}

const waits = event('session.ended', { status: 'rate_limited', reason: 'limit', resumes_at: NOON + 2 * MINUTE })
const resumed = event('session.resumed', { reason: 'the limit has reset' })

test('the remaining time is shown like a clock', () => {
  assert.equal(countdown(754_000), '12:34')
  assert.equal(countdown(59_001), '01:00')
  assert.equal(countdown(3_723_000), '1:02:03')
  assert.equal(countdown((6 * 24 + 3) * 3_600_000 + 65_000), '6d 3:01:05')
  assert.equal(countdown(-5), '00:00')
})

test('on a terminal the time ticks in place until the session goes on', t => {
  const { timer, prompts, printed, tick } = openTestCountdown(t, { ticks: true })
  timer.apply(waits)
  assert.equal(prompts.at(-1), 'Resuming in 02:00')
  tick(1000)
  assert.equal(prompts.at(-1), 'Resuming in 01:59')
  tick(118_000)
  assert.equal(prompts.at(-1), 'Resuming in 00:01')
  tick(5000)
  assert.equal(prompts.at(-1), 'Resuming...')
  tick(12_000)
  assert.equal(prompts.at(-1), 'Waits for its turn; why: pcc quota')
  timer.apply(resumed)
  assert.equal(prompts.at(-1), undefined)
  const drawn = prompts.length
  tick(10_000)
  assert.equal(prompts.length, drawn, 'nothing ticks any more')
  assert.deepEqual(printed, [])
})

test('where nothing can tick, a line is printed for each change', async t => {
  const { timer, printed, prompts, shown, tick } = openTestCountdown(t, { ticks: false })
  timer.apply(waits)
  tick(15_000)
  await turn()
  assert.deepEqual(printed, ['Resuming in 02:00'])
  shown.resumes_at = NOON + 60 * MINUTE
  tick(15_000)
  await turn()
  assert.deepEqual(printed, ['Resuming in 02:00', 'Resuming in 59:30'])
  assert.deepEqual(prompts, [])
})

test('a hold during the wait is shown with how to release it, and disappears when it is released', async t => {
  const { timer, prompts, shown, tick } = openTestCountdown(t, { ticks: true })
  timer.apply(waits)
  shown.resumes_at = null
  tick(15_000)
  await turn()
  assert.match(prompts.at(-1) ?? '', /does not go on by itself now.*pcc quota release, or pcc resume s-1/)
  shown.resumes_at = NOON + 5 * MINUTE
  tick(15_000)
  await turn()
  assert.equal(prompts.at(-1), 'Resuming in 04:30')
})

test('an answer that arrives after the session went on changes nothing', async t => {
  const { timer, prompts, shown, tick } = openTestCountdown(t, { ticks: true })
  timer.apply(waits)
  shown.resumes_at = null
  tick(15_000)
  timer.apply(resumed)
  await turn()
  assert.equal(prompts.at(-1), undefined)
})

test('a session goes on by itself only after an end with a resume time', () => {
  assert.equal(resumesByItself(waits), true)
  assert.equal(resumesByItself(resumed), false)
  assert.equal(resumesByItself(event('session.ended', { status: 'rate_limited', reason: 'limit' })), false)
  assert.equal(resumesByItself(undefined), false)
})

/** Lets settled promises run their callbacks. */
function turn(): Promise<void> {
  return new Promise(resolve => setImmediate(resolve))
}
