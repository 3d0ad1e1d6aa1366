import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as soon } from 'node:timers/promises'
import { openWebhookSettings } from '../../../src/daemon/webhooks/settings.ts'
import { workOn } from '../../../src/daemon/webhooks/work.ts'
import type { Task } from '../../../src/domain/task.ts'
import { scriptedAgent } from '../../supervisor/session/scripted-agent.ts'
import { githubPayload, type Payload } from './github-messages.ts'
import { doneTask, failedCheck, labelled, mergedPull, type WebhookWorld, webhookWorld } from './webhook-world.ts'

const TOKEN = 'a-token-of-sixteen-and-more'

/** Works once on the newest message, as the daemon does when its time has come, and returns it. */
async function workOnce({ world }: Pick<WebhookWorld, 'world'>) {
  const newest = async () => {
    const [row] = await world.store.webhooks.list({ limit: 1 })
    assert.ok(row)
    return row
  }
  const read = openWebhookSettings(world.daemon, world.settings)
  await workOn(await newest(), { daemon: world.daemon, read, chat: async () => '' })
  return newest()
}

const change = async ({ world }: Pick<WebhookWorld, 'world'>, id: string, patch: Partial<Task>) => {
  const task = (await world.store.tasks.get(id)) as Task
  await world.store.transaction(tx => world.store.tasks.swap(task, patch, tx))
}

test('a check that comes while its task is at work, or its agent is not gone yet, is kept until it can be given back', async t => {
  const made = await doneTask(t)
  const { world, task, session, tip, github, agent } = made
  const [id, by] = [task?.id ?? '', session?.id ?? '']
  await world.daemon.webhooks.close()
  await github('check_run', failedCheck(`pcc/${id}`, tip))
  for (const state of ['verifying', 'merging', 'running', 'waiting'] as const) {
    await change(made, id, { state })
    const kept = await workOnce(made)
    assert.deepEqual([kept.state, kept.body === ''], ['waiting', false], state)
    assert.match(kept.outcome ?? '', new RegExp(`${id} is ${state}`))
  }
  await change(made, id, { state: 'done' })
  await world.store.sessions.update(by, { state: 'working' } as never)
  assert.match((await workOnce(made)).outcome ?? '', /is not over yet/)
  await world.store.sessions.update(by, { state: 'ended' })
  // It was tried often enough for any other problem to be given up.
  const row = (await world.store.webhooks.list({ limit: 1 }))[0] as never
  await world.store.transaction(tx => world.store.webhooks.move(row, { tries: 40 }, tx))
  await change(made, id, { state: 'verifying' })
  assert.equal((await workOnce(made)).state, 'waiting')
  await change(made, id, { state: 'done' })
  const before = agent.prompts.length
  assert.equal((await workOnce(made)).state, 'done')
  while (agent.prompts.length === before) await soon()
  assert.match(agent.prompts.at(-1) ?? '', /A check of your work failed/)
})

test('a review that asks for changes goes back to the conversation that did the work', async t => {
  const { task, session, tip, github, worked, agent, done } = await doneTask(t)
  const before = agent.prompts.length
  const review = githubPayload('pull_request_review', 'submitted', payload => {
    const asks = { state: 'changes_requested', body: 'Spell it right.', author_association: 'MEMBER', commit_id: tip }
    Object.assign(payload.review, asks)
    payload.pull_request.head.ref = `pcc/${task?.id}`
  })
  await github('pull_request_review', review)
  assert.equal((await worked()).at(-1)?.state, 'done')
  while (agent.prompts.length === before) await soon()
  assert.match(
    agent.prompts.at(-1) ?? '',
    /has reviewed the pull request of your work.*External text.*Spell it right\./s,
  )
  const again = await done()
  assert.deepEqual([again.session?.id, again.session?.vendor_id], [session?.id, session?.vendor_id])
})

test('a merge that comes before the agent has begun again leaves it nothing to begin', async t => {
  const { world, task, session, tip, github, worked } = await doneTask(t)
  world.disk.reason = 'the disk is full'
  await github('check_run', failedCheck(`pcc/${task?.id}`, tip))
  while ((await world.store.tasks.get(task?.id ?? ''))?.state !== 'waiting') await soon()
  await github('pull_request', mergedPull(`pcc/${task?.id}`))
  await worked()
  const after = await world.store.sessions.get(session?.id ?? '')
  assert.deepEqual([after?.ended_as, after?.resumes_at], ['completed', null])
  assert.equal((await world.store.tasks.get(task?.id ?? ''))?.state, 'done')
})

test('a merge ends a task that a session without a run holds, and its agent is stopped', async t => {
  const agent = scriptedAgent()
  const held = agent.holdAt('request')
  const made = await webhookWorld(t, {}, agent)
  const { world, project, github, worked } = made
  const session = await world.start('mend the shop', { project })
  const goOn = await held
  const [task] = await world.store.tasks.list({})
  assert.deepEqual([task?.state, task?.run_id, task?.session_id], ['running', null, session])
  await github('pull_request', mergedPull(`pcc/${task?.id}`))
  const last = (await worked()).at(-1)
  goOn()
  assert.equal(last?.state, 'done', last?.outcome ?? '')
  await world.ended(session, 1)
  const [ended] = await world.store.tasks.list({})
  assert.deepEqual([ended?.state, ended?.reason], ['done', `its pull request was merged as ${'d'.repeat(10)}`])
})

test('a merge of a task that has parts is written down, and the task is done when its parts are', async t => {
  const { world, github, worked } = await webhookWorld(t)
  await github('issues', labelled(7))
  await worked()
  const [task] = await world.store.tasks.list({})
  const part = await world.call('POST', '/tasks', { project: task?.project, title: 'a part', parent: task?.id })
  assert.equal(part.status, 201, JSON.stringify(part.body))
  await github('pull_request', mergedPull(`pcc/${task?.id}`))
  const last = (await worked()).at(-1)
  assert.deepEqual([last?.state, /has parts/.test(last?.outcome ?? '')], ['done', true], last?.outcome ?? '')
  assert.equal((await world.store.tasks.get(task?.id ?? ''))?.state, 'blocked')
})

const startsAt = new Date().toISOString()
const alert = (number: number) => {
  const labels = { alertname: `Alert${number}` }
  return { status: 'firing', labels, annotations: {}, startsAt, fingerprint: `f${number}` }
}

const alerting = async (t: Parameters<typeof webhookWorld>[0], settings: Record<string, string>) => {
  const made = await webhookWorld(t, { PCC_WEBHOOKS_PROMETHEUS_SECRET: TOKEN, ...settings })
  made.world.settings['PCC_WEBHOOKS_PROMETHEUS_PROJECT'] = made.project
  const send = (payload: Payload) =>
    made.post('prometheus', { headers: { authorization: `Bearer ${TOKEN}` }, raw: JSON.stringify(payload) })
  return { ...made, send }
}

test('every alert of a message becomes a task, also when there are many; what is left out is said', async t => {
  const { world, send, worked } = await alerting(t, { PCC_TASKS_QUEUE_SIZE: '1000' })
  const alerts = Array.from({ length: 25 }, (_, at) => alert(at))
  await send({ alerts: [...alerts, { ...alert(99), startsAt: '2020-01-01T00:00:00Z' }], truncatedAlerts: 3 })
  const [message] = await worked()
  assert.equal((await world.store.tasks.list({})).length, 25)
  assert.equal(message?.tasks.split(' ').length, 25)
  assert.match(message?.outcome ?? '', /Alert99 began 2020.*too long ago/)
  assert.match(message?.outcome ?? '', /Alertmanager left out 3 alerts/)
  await send({ alerts: Array.from({ length: 501 }, (_, at) => alert(at)) })
  const second = (await worked()).at(-1)
  assert.equal((await world.store.tasks.list({})).length, 500)
  assert.match(second?.outcome ?? '', /1 more alerts fire.*no task/)
})

test('tasks.queue_size: each alert counts, those without a place wait, and the others begin', async t => {
  const made = await alerting(t, { PCC_TASKS_QUEUE_SIZE: '2', PCC_WEBHOOKS_START_RUNS: 'true' })
  const { world, send } = made
  await world.daemon.webhooks.close()
  await send({ alerts: [1, 2, 3].map(alert) })
  const full = await workOnce(made)
  assert.deepEqual([full.state, full.tasks.split(' ').length], ['waiting', 2], full.outcome ?? '')
  assert.equal((await world.store.runs.list()).length, 2, 'those that are there do not wait for the third')
  for (const { id } of await world.store.tasks.list({})) await change(made, id, { state: 'cancelled' })
  const done = await workOnce(made)
  assert.deepEqual([done.state, done.tasks.split(' ').length], ['done', 3], done.outcome ?? '')
  assert.deepEqual((await world.store.tasks.list({})).length, 3)
})

test('what the settings refused is done when they are right and it is retried, also days later', async t => {
  const { world, github, worked, project } = await webhookWorld(t)
  world.settings['PCC_WEBHOOKS_GITHUB_REPOSITORIES'] = `octo/other=${project}`
  const daysAgo = Date.now() - 5 * 86_400_000
  await github(
    'issues',
    labelled(7, payload => Object.assign(payload.issue, { updated_at: new Date(daysAgo).toISOString() })),
  )
  const [refused] = await worked()
  assert.deepEqual([refused?.state, refused?.body === ''], ['refused', false])
  await world.store.transaction(tx => world.store.webhooks.move(refused as never, { received_at: daysAgo }, tx))
  const retry = async () => (await world.call('POST', `/webhooks/${refused?.id}/retry`, {})).body.message
  assert.equal((await retry()).state, 'refused')
  world.settings['PCC_WEBHOOKS_GITHUB_REPOSITORIES'] = `octo/shop=${project}`
  const done = await retry()
  assert.deepEqual([done.state, done.tasks !== ''], ['done', true], done.outcome)
  const again = await world.call('POST', `/webhooks/${refused?.id}/retry`, {})
  assert.equal(again.body.error.code, 'webhook_not_failed')
})

test('a task is not left to a run that is being stopped', async t => {
  const agent = scriptedAgent()
  const held = agent.holdAt('request')
  const made = await webhookWorld(t, { PCC_WEBHOOKS_START_RUNS: 'true' }, agent)
  const { world, project, github } = made
  await world.daemon.webhooks.close()
  await world.call('POST', '/tasks', { project, title: 'long' })
  const { body } = await world.call('POST', '/runs', { project, target: { kind: 'project' }, env: {} })
  await held
  await world.call('POST', `/runs/${body.id}/stop`, { now: false })
  await github('issues', labelled(7))
  const kept = await workOnce(made)
  assert.equal(kept.state, 'starting', kept.outcome ?? '')
  assert.match(kept.outcome ?? '', new RegExp(`${body.id} .*being stopped`))
})
