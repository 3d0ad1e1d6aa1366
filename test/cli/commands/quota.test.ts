import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { test } from 'node:test'
import { openAccountGates } from '../../../src/agents/limits/account-gates.ts'
import { appPathsFor } from '../../../src/base/app-paths.ts'
import { systemClock } from '../../../src/base/clock.ts'
import type { SessionView } from '../../../src/domain/api.ts'
import type { QuotaView } from '../../../src/domain/quota.ts'
import { openStore } from '../../../src/store/open.ts'
import { onTerminal } from '../../e2e/pty.ts'
import { type Pcc, pccFor } from '../pcc.ts'
import { seed } from '../seeded.ts'

const HOUR = 3_600_000
const FIRST = 'aaaa000000000000'
const SECOND = 'bbbb000000000000'

/** Two accounts, one of them with a session that waits for a limit. */
async function twoAccounts(pcc: Pcc): Promise<void> {
  const now = Date.now()
  const { database } = appPathsFor({ env: pcc.env })
  mkdirSync(dirname(database), { recursive: true })
  const waits = { state: 'ended', ended_as: 'rate_limited', ended_at: now, resumes_at: now + 2 * HOUR } as const
  await seed(pcc, [{ id: 's-aaaaaa', name: 'first', account: FIRST, ...waits }])
  await using store = await openStore({ file: database })
  await store.quota.label(FIRST, 'claude · one.example · API key')
  await store.quota.label(SECOND, 'claude · two.example · API key')
  const window = { window: 'five_hour', resets_at: now + HOUR, source: 'vendor', at: now } as const
  await store.quota.put(FIRST, { ...window, utilization: 0.88 })
}

async function quota(pcc: Pcc): Promise<QuotaView> {
  const { code, stdout, stderr } = await pcc.run(['quota', '--json'])
  assert.equal(code, 0, stderr)
  return JSON.parse(stdout) as QuotaView
}

test('quota shows every account, and in JSON what it is drawn from', async t => {
  const pcc = pccFor(t)
  assert.equal((await pcc.run(['quota'])).stdout, 'Nothing is known yet: no session has used an account.\n')
  await pcc.run(['daemon', 'stop'])
  await twoAccounts(pcc)
  const { stdout } = await pcc.run(['quota'])
  assert.match(
    stdout,
    /^claude · one\.example · API key \(aaaa00\)\n {2}5-hour +█+░+ +88% {2}resets .*reported by the vendor/,
  )
  assert.match(stdout, /Level +warning\. A session starts only when no other is at work\.\n {2}Gate +open\n/)
  assert.match(stdout, /Waiting +1 session\n +s-aaaaaa \(first\) goes on at /)
  assert.match(stdout, /\n\nclaude · two\.example · API key \(bbbb00\)\n {2}1-hour +0 tokens {2}our own estimate\n/)
  const view = await quota(pcc)
  assert.deepEqual(
    view.accounts.map(({ account, level, warns, waiting }) => [account, level, warns, waiting.map(({ id }) => id)]),
    [
      [FIRST, 'warning', 'warning', ['s-aaaaaa']],
      [SECOND, 'unknown', 'ok', []],
    ],
  )
})

test('hold and release act on all accounts, on one, or on one session', async t => {
  const pcc = pccFor(t)
  await twoAccounts(pcc)
  assert.equal((await pcc.run(['quota', 'hold'])).stdout, 'Held: all accounts\nLet it go with: pcc quota release\n')
  assert.equal((await quota(pcc)).hold?.by, 'human')
  assert.match((await pcc.run(['quota'])).stdout, /^Everything is held by human since /)
  assert.equal((await pcc.run(['quota', 'release', 'all'])).stdout, 'Released: all accounts\n')
  assert.equal((await quota(pcc)).hold, null)

  assert.match((await pcc.run(['quota', 'hold', '--account', 'two.example'])).stdout, /^Held: two\.example\n/)
  const gates = (await quota(pcc)).accounts.map(({ account, gate }) => [account, gate?.held ?? false])
  assert.deepEqual(gates, [
    [FIRST, false],
    [SECOND, true],
  ])
  assert.equal((await pcc.run(['quota', 'release', '--account', 'bbbb'])).code, 0)
  assert.equal((await quota(pcc)).accounts[1]?.gate?.held, false)

  assert.equal((await pcc.run(['quota', 'hold', 'first'])).stdout, 'Held: s-aaaaaa (first)\n')
  assert.equal((await quota(pcc)).accounts[0]?.waiting[0]?.held, true)
  assert.match((await pcc.run(['quota'])).stdout, /s-aaaaaa \(first\) is held: pcc quota release s-aaaaaa/)
  const released = JSON.parse((await pcc.run(['quota', 'release', 'first', '--json'])).stdout) as SessionView
  assert.equal(released.id, 's-aaaaaa')
  assert.equal((await quota(pcc)).accounts[0]?.waiting[0]?.held, false)
})

test('what is held is shown as held, release says when nothing was, and what is over cannot be held', async t => {
  const pcc = pccFor(t)
  await twoAccounts(pcc)
  await seed(pcc, [{ id: 's-cccccc', name: 'done', account: SECOND }])
  const list = async () => (await pcc.run(['list'])).stdout
  assert.match(await list(), /first +\S+ +⏳ Limited/)
  await pcc.run(['quota', 'hold', 'first'])
  assert.match(await list(), /first +\S+ +⏸ Held (.|\n)*Go on: pcc quota release s-aaaaaa/)
  assert.equal((await pcc.run(['quota', 'release', 'first'])).stdout, 'Released: s-aaaaaa (first)\n')
  assert.equal((await pcc.run(['quota', 'release', 'first'])).stdout, 'It was not held: s-aaaaaa (first)\n')
  await pcc.run(['quota', 'hold'])
  assert.match(await list(), /first +\S+ +⏸ Held (.|\n)*Go on: pcc quota release\n/)
  assert.match(await list(), /1 ended: pcc list --all/)
  assert.match((await pcc.run(['status', 'first'])).stdout, /⏸ Held/)
  await pcc.run(['quota', 'release'])
  assert.equal((await pcc.run(['quota', 'release'])).stdout, 'Nothing was held: all accounts\n')
  await pcc.run(['quota', 'hold', '--account', 'bbbb'])
  assert.match(
    (await pcc.run(['quota', 'release'])).stdout,
    /^Nothing was held: .*\n.*two\.example.* is held separately/,
  )
  const over = await pcc.run(['quota', 'hold', 'done'])
  assert.deepEqual([over.code, over.stdout], [2, ''])
  assert.match(over.stderr, /Session s-cccccc is over: nothing is left in its queue/)
})

test('release reports a limit that keeps an account closed; --now opens it and tries', async t => {
  const pcc = pccFor(t)
  await twoAccounts(pcc)
  const now = Date.now()
  await closeFirst(pcc, now + 50 * HOUR)
  const closed = async () => (await quota(pcc)).accounts.map(({ gate }) => gate?.closed_until ?? null)
  assert.match(
    (await pcc.run(['quota', 'release'])).stdout,
    /^Nothing was held: all accounts\nA limit keeps claude · one\.example · API key closed until .+\.\nIs it over already\? Try now: pcc quota release --account aaaa00 --now\n$/,
  )
  assert.equal((await pcc.run(['quota', 'release', '--account', 'two.ex'])).stdout, 'Nothing was held: two.ex\n')
  const agent = await pcc.run(['quota', 'release', '--now'], { env: { PCC_SESSION_MARK: 'x' } })
  assert.equal(agent.code, 3, agent.stderr)
  const one = await pcc.run(['quota', 'release', 'first', '--now'])
  assert.equal(one.code, 2)
  assert.match(one.stderr, /--now is for accounts/)
  assert.deepEqual(await closed(), [now + 50 * HOUR, null])
  await pcc.run(['quota', 'hold'])
  assert.equal(
    (await pcc.run(['quota', 'release', '--account', 'aaaa', '--now'])).stdout,
    'Released: aaaa\nclaude · one.example · API key is open. Tried now by s-aaaaaa.\n' +
      'Nothing goes on while everything is held. Let it go with: pcc quota release\n',
  )
  assert.deepEqual(await closed(), [null, null])
  assert.match((await pcc.run(['quota'])).stdout, /5-hour +reset .*, nothing reported since\n/)
  assert.match(
    (await pcc.run(['quota', 'release', '--account', 'bbbb', '--now'])).stdout,
    /^Released: bbbb\nNo limit keeps it closed, and nobody waits for it\.\n/,
  )
  assert.match((await pcc.run(['quota', 'hold', '--now'])).stderr, /unknown option '--now'/)
})

/** The gate as the vendor's refusal leaves it. */
async function closeFirst(pcc: Pcc, until: number): Promise<void> {
  await using store = await openStore({ file: appPathsFor({ env: pcc.env }).database })
  const limit = { source: 'event', message: 'full', window: 'seven_day', resetsAt: until } as const
  await openAccountGates({ store, clock: systemClock }).close(FIRST, limit)
}

test('an agent cannot let go of what a person holds', async t => {
  const pcc = pccFor(t)
  await twoAccounts(pcc)
  await pcc.run(['quota', 'hold'])
  const { code, stderr } = await pcc.run(['quota', 'release'], { env: { PCC_SESSION_MARK: 'x' } })
  assert.equal(code, 3, stderr)
  assert.equal((await quota(pcc)).hold?.by, 'human')
})

test('a hold survives the daemon', async t => {
  const pcc = pccFor(t)
  await twoAccounts(pcc)
  await pcc.run(['quota', 'hold'])
  await pcc.run(['daemon', 'restart'])
  assert.equal((await quota(pcc)).hold?.by, 'human')
})

test('an account or a session that is not there, or could be several, is refused by name', async t => {
  const pcc = pccFor(t)
  await twoAccounts(pcc)
  const failed = async (...args: string[]) => {
    const { code, stderr } = await pcc.run(['quota', ...args])
    assert.equal(code, 2, stderr)
    return stderr
  }
  assert.match(await failed('hold', '--account', 'zzz'), /There is no account "zzz"\.\n.*pcc quota/)
  assert.match(await failed('hold', '--account', 'example'), /"example" could be any of aaaa0+ \(.*\), bbbb0+ \(/)
  assert.match(await failed('hold', 'nobody'), /There is no session "nobody"/)
  assert.match(await failed('hold', 'first', '--account', 'aaaa'), /a session or --account, not both/)
  assert.match(await failed('--wach'), /unknown option '--wach'/)
  assert.match(await failed('hodl'), /hodl/)
  assert.equal((await quota(pcc)).hold, null)
})

test('--watch prints a line of JSON for each change and ends with Ctrl+C', async t => {
  const pcc = pccFor(t)
  await twoAccounts(pcc)
  const child = pcc.spawn(['quota', '--watch', '--json'])
  const lines = createInterface({ input: child.stdout as Readable })[Symbol.asyncIterator]()
  const next = async () => JSON.parse((await lines.next()).value ?? '') as QuotaView
  assert.equal((await next()).hold, null)
  await pcc.run(['quota', 'hold'])
  assert.equal((await next()).hold?.by, 'human')
  child.kill('SIGINT')
  const [code] = await once(child, 'exit')
  assert.equal(code, 0)
})

test('--watch draws the page over itself on a terminal', async t => {
  const pcc = pccFor(t)
  await twoAccounts(pcc)
  const terminal = onTerminal(t, pcc, ['quota', '--watch'])
  await terminal.see(/one\.example(.|\n)*88%/)
  await pcc.run(['quota', 'hold', '--account', 'one.example'])
  await terminal.see(/one\.example(.|\n)*held by human/)
  assert.match(terminal.raw(), /\x1b\[1A/, 'it was drawn in place')
  terminal.type('\x03')
  assert.equal(await terminal.exit, 0)
})
