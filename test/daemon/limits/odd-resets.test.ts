import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { QuotaView } from '../../../src/domain/quota.ts'
import { agentSessions } from '../agent-sessions.ts'
import { viewWhen } from '../daemon-process.ts'
import { isComplete, isLimited, limitFor, openVendor, otherAccount } from './gated.ts'

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE
const seconds = (ms: number) => Math.ceil(ms / 1000)

/** What the vendor reports, and when the account is expected to open, both counted from now. */
const ODD = {
  past: { fault: (now: number) => `{ kind: limit, resets: ${seconds(now - DAY)} }`, source: 'probe', opens: MINUTE },
  none: { fault: () => '{ kind: rate_limit, retry_after: 3600 }', source: 'probe', opens: MINUTE },
  month: {
    fault: (now: number) => `{ kind: limit, window: seven_day, resets: ${seconds(now + 30 * DAY)} }`,
    source: 'record',
    opens: 30 * DAY,
  },
  zone: {
    fault: (now: number) => `{ kind: limit, resets: ${seconds(now + 90 * MINUTE)} }`,
    source: 'record',
    opens: 90 * MINUTE,
  },
} as const

test('a reset in the past, none at all, in a month, in another time zone: each account waits as long as it should', async t => {
  const now = Date.now()
  const scenario = `
conversations:
${Object.entries(ODD)
  .map(([name, { fault }]) => `  - { match: account ${name}, turns: [{ fault: ${fault(now)} }] }`)
  .join('\n')}
  - match: account soon
    turns:
      - fault: ${limitFor('6s')}
        text: Back already.
`
  const world = await agentSessions(t, scenario, { auth: 'oauth' })
  const started = await Promise.all(
    [...Object.keys(ODD), 'soon'].map(name =>
      world.start(`Use account ${name}`, { env: { ...otherAccount(world, name), TZ: 'Pacific/Auckland' } }),
    ),
  )
  const views = await Promise.all(started.map(({ id }) => viewWhen(world.daemon, id, isLimited)))
  openVendor(world)
  const { body } = await world.daemon.call<QuotaView>('GET', '/quota')
  const gates = body.accounts.map(({ gate, waiting }) => ({ gate, session: waiting[0]?.id }))
  for (const [index, [name, { source, opens }]] of Object.entries(ODD).entries()) {
    const view = views[index]
    const gate = gates.find(({ session }) => session === view?.id)?.gate
    assert.ok(view && gate, name)
    assert.equal(gate.source, source, name)
    const from = source === 'probe' ? (gate.closed_at ?? 0) : now
    const waits = (gate.closed_until ?? 0) - from
    // A probe waits up to a tenth longer, and the vendor counts in seconds.
    assert.ok(waits >= opens - 1000 && waits <= opens * 1.1 + 1000, `${name}: ${waits} ms, not ${opens}`)
    assert.ok((view.resumes_at ?? 0) > (gate.closed_until ?? 0), name)
  }
  const [soon] = started.slice(-1)
  assert.ok(soon)
  await viewWhen(world.daemon, soon.id, isComplete)
  // Seconds have passed, and nobody has called the vendor again.
  for (const name of Object.keys(ODD)) {
    assert.equal(world.simulator.requests.filter(({ prompt }) => prompt === `Use account ${name}`).length, 1, name)
  }
})
