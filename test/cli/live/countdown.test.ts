import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { openCountdown, resumesByItself } from '../../../src/cli/live/watch.ts'
import { countdown } from '../../../src/cli/render/format.ts'
import { event, NOON, session } from '../render/sample.ts'

const MINUTE = 60_000

function onScreen(t: TestContext, { ticks }: { ticks: boolean }) {
  t.mock.timers.enable({ apis: ['setInterval', 'Date'], now: NOON })
  const printed: string[] = []
  const prompts: (string | undefined)[] = []
  const shown = { resumes_at: (NOON + 2 * MINUTE) as number | null, looks: 0 }
  const deps = {
    screen: {
      ticks,
      print: (lines: string[]) => void printed.push(...lines),
      prompt: (line: string | undefined) => void prompts.push(line),
    },
    id: 's-1',
    fetchSession: async () => {
      shown.looks++
      return session({ status: 'rate_limited', resumes_at: shown.resumes_at, ended_at: NOON })
    },
  }
  const clock = openCountdown(deps)
  t.after(() => clock[Symbol.dispose]())
  return { clock, printed, prompts, shown, tick: (ms: number) => t.mock.timers.tick(ms) }
}

const waits = event('session.ended', { status: 'rate_limited', reason: 'limit', resumes_at: NOON + 2 * MINUTE })
const resumed = event('session.resumed', { reason: 'the limit has reset' })

test('what is left is shown as a clock shows it', () => {
  assert.equal(countdown(754_000), '12:34')
  assert.equal(countdown(59_001), '01:00')
  assert.equal(countdown(3_723_000), '1:02:03')
  assert.equal(countdown((6 * 24 + 3) * 3_600_000 + 65_000), '6d 3:01:05')
  assert.equal(countdown(-5), '00:00')
})

test('on a terminal the time ticks in place until the session goes on', t => {
  const { clock, prompts, printed, tick } = onScreen(t, { ticks: true })
  clock.apply(waits)
  assert.equal(prompts.at(-1), 'Resuming in 02:00')
  tick(1000)
  assert.equal(prompts.at(-1), 'Resuming in 01:59')
  tick(118_000)
  assert.equal(prompts.at(-1), 'Resuming in 00:01')
  tick(5000)
  assert.equal(prompts.at(-1), 'Resuming...')
  tick(12_000)
  assert.equal(prompts.at(-1), 'Waits for its turn; why: pcc quota')
  clock.apply(resumed)
  assert.equal(prompts.at(-1), undefined)
  const drawn = prompts.length
  tick(10_000)
  assert.equal(prompts.length, drawn, 'nothing ticks any more')
  assert.deepEqual(printed, [])
})

test('where nothing can tick, a line is printed for each change', async t => {
  const { clock, printed, prompts, shown, tick } = onScreen(t, { ticks: false })
  clock.apply(waits)
  tick(15_000)
  await turn()
  assert.deepEqual(printed, ['Resuming in 02:00'])
  shown.resumes_at = NOON + 60 * MINUTE
  tick(15_000)
  await turn()
  assert.deepEqual(printed, ['Resuming in 02:00', 'Resuming in 59:30'])
  assert.deepEqual(prompts, [])
})

test('a hold that comes meanwhile is shown with the way to let it go, and taken back when it is let go', async t => {
  const { clock, prompts, shown, tick } = onScreen(t, { ticks: true })
  clock.apply(waits)
  shown.resumes_at = null
  tick(15_000)
  await turn()
  assert.match(prompts.at(-1) ?? '', /does not go on by itself now.*pcc quota release, or pcc resume s-1/)
  shown.resumes_at = NOON + 5 * MINUTE
  tick(15_000)
  await turn()
  assert.equal(prompts.at(-1), 'Resuming in 04:30')
})

test('an answer that comes after the session went on changes nothing', async t => {
  const { clock, prompts, shown, tick } = onScreen(t, { ticks: true })
  clock.apply(waits)
  shown.resumes_at = null
  tick(15_000)
  clock.apply(resumed)
  await turn()
  assert.equal(prompts.at(-1), undefined)
})

test('only an ending with a time is one after which the session goes on by itself', () => {
  assert.equal(resumesByItself(waits), true)
  assert.equal(resumesByItself(resumed), false)
  assert.equal(resumesByItself(event('session.ended', { status: 'rate_limited', reason: 'limit' })), false)
  assert.equal(resumesByItself(undefined), false)
})

/** Lets promises that are settled be heard of. */
function turn(): Promise<void> {
  return new Promise(resolve => setImmediate(resolve))
}
