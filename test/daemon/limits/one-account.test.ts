import assert from 'node:assert/strict'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { agentSessions, bodiesOf } from '../agent-sessions.ts'
import { viewWhen } from '../daemon-process.ts'

/** One session hits the limit while two others are in the middle of a command. */
function scenario(until: number): string {
  const limit = `{ kind: limit, window: five_hour, until: ${Math.ceil(until / 1000)} }`
  const worker = (name: string) => `
  - match: part ${name}
    turns:
      - tools: [{ Bash: { command: "sleep 4; touch ${name}.1", description: Work } }]
      - fault: ${limit}
        tools: [{ Bash: { command: "touch ${name}.2", description: Work } }]
      - text: Part ${name} is done.`
  return `
conversations:
  - match: part a
    turns:
      - tools: [{ Bash: { command: "until [ -e go ]; do sleep 0.1; done; touch a.1", description: Work } }]
      - fault: ${limit}
        tools: [{ Bash: { command: "touch a.2", description: Work } }]
      - text: Part a is done.${worker('b')}${worker('c')}
`
}

test('three sessions of one account meet a limit: not one call while it lasts, then all go on with what they had', async t => {
  const reset = Date.now() + 50_000
  const world = await agentSessions(t, scenario(reset), { auth: 'oauth' })
  const [a, b, c] = await Promise.all(['a', 'b', 'c'].map(name => world.start(`Please do part ${name}`)))
  assert.ok(a && b && c)
  const all = [a.id, b.id, c.id]
  const waiting = all.map(id => viewWhen(world.daemon, id, ({ status }) => status === 'rate_limited'))
  for (const id of [b.id, c.id]) await viewWhen(world.daemon, id, ({ activity }) => /sleep/.test(activity ?? ''))
  writeFileSync(join(world.project, 'go'), '')
  for (const view of await Promise.all(waiting)) {
    assert.ok((view.resumes_at ?? 0) > reset - 1_000, 'each waits for the reset')
  }
  // Calls in flight were finished, and only the first session was refused.
  assert.deepEqual(
    ['a.1', 'b.1', 'c.1', 'a.2', 'b.2', 'c.2'].map(file => existsSync(join(world.project, file))),
    [true, true, true, false, false, false],
  )
  assert.equal(world.simulator.requests.filter(({ response }) => response === 'limit').length, 1)
  await Promise.all(all.map(id => viewWhen(world.daemon, id, ({ status }) => status === 'completed')))
  const refused = world.simulator.requests.findIndex(({ response }) => response === 'limit')
  const later = world.simulator.requests.slice(refused + 1)
  assert.deepEqual(
    later.filter(({ time }) => time < reset),
    [],
  )
  // The agents remember: their next requests contain the whole conversation, and the text of the limit completed no task.
  for (const name of ['a', 'b', 'c']) {
    assert.ok(
      later.some(({ body }) => JSON.stringify(body).includes(`touch ${name}.1`)),
      name,
    )
    assert.ok(existsSync(join(world.project, `${name}.2`)))
  }
  for (const id of all) {
    const log = await world.log(id)
    const done = bodiesOf(log, 'task.finished').map(({ result }) => result)
    assert.match(done.join(), /^Part . is done\.$/)
    assert.equal(bodiesOf(log, 'session.resumed').length, 1)
  }
})
