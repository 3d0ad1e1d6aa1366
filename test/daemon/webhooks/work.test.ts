import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as soon } from 'node:timers/promises'
import fc from 'fast-check'
import { openWebhookSettings } from '../../../src/daemon/webhooks/settings.ts'
import { type WebhookWorkDeps, workOn } from '../../../src/daemon/webhooks/work.ts'
import { githubPayload, type Payload } from './github-messages.ts'
import { doneTask, failedCheck, labelled, mergedPull, webhookWorld } from './webhook-world.ts'

const ordered = (number: number, id: number) =>
  githubPayload('issue_comment', 'created', payload => {
    Object.assign(payload.issue, { number, title: `issue ${number}` })
    delete payload.issue.pull_request
    Object.assign(payload.comment, { id, body: '/pcc once more', author_association: 'OWNER' })
  })

const stranger = (payload: Payload) => {
  payload.repository.full_name = 'evil/repo'
}

test('one issue is one task, however often it is labelled; an order makes another one when the first is over', async t => {
  const { github, worked, world } = await webhookWorld(t)
  await github('issues', labelled(7))
  await github(
    'issues',
    labelled(7, payload => Object.assign(payload.issue, { body: 'changed' })),
  )
  await github('issue_comment', ordered(7, 1))
  await worked()
  const [task] = await world.store.tasks.list({})
  assert.equal((await world.store.tasks.list({})).length, 1)
  await world.call('POST', `/tasks/${task?.id}/done`, {})
  await github(
    'issues',
    labelled(7, payload => Object.assign(payload.issue, { body: 'changed again' })),
  )
  await github('issue_comment', ordered(7, 2))
  const messages = await worked()
  assert.deepEqual(
    messages.map(({ state }) => state),
    ['done', 'ignored', 'ignored', 'ignored', 'done'],
  )
  assert.deepEqual(
    (await world.store.tasks.list({})).map(({ alias, state }) => [alias, state]),
    [
      ['octo/shop#7', 'done'],
      ['octo/shop#7/2', 'ready'],
    ],
  )
})

test('a repository that nobody knows and a shape that GitHub does not send are kept and shown', async t => {
  const { github, worked, world } = await webhookWorld(t)
  await github('issues', labelled(7, stranger))
  await github('issues', { action: 'labeled', repository: { full_name: 'octo/shop' }, issue: 'none' })
  const [refused, failed] = await worked()
  assert.deepEqual([refused?.state, failed?.state], ['refused', 'failed'])
  assert.match(refused?.outcome ?? '', /evil\/repo/)
  assert.match((await world.call('GET', `/webhooks/${failed?.id}`)).body.message.body, /"issue":"none"/)
  assert.deepEqual(await world.store.tasks.list({}), [])
})

test('a message that failed because of the settings is done when they are right and it is retried', async t => {
  const { github, worked, world, project } = await webhookWorld(t, {
    PCC_WEBHOOKS_GITHUB_REPOSITORIES: 'octo/shop=/nowhere/at/all',
  })
  await github('issues', labelled(7))
  const [failed] = await worked()
  assert.deepEqual([failed?.state, /is no folder/.test(failed?.outcome ?? '')], ['failed', true])
  world.settings['PCC_WEBHOOKS_GITHUB_REPOSITORIES'] = `octo/shop=${project}`
  const read = openWebhookSettings(world.daemon, world.settings)
  world.daemon.webhooks.read = read
  await world.store.transaction(tx => world.store.webhooks.move(failed as never, { state: 'waiting' }, tx))
  const deps: WebhookWorkDeps = { daemon: world.daemon, read, chat: async () => '' }
  await workOn({ ...failed, state: 'waiting' } as never, deps)
  assert.equal((await worked())[0]?.state, 'done')
})

test('webhooks.start_runs: a run starts for the task, once, also if the daemon died before', async t => {
  const { github, worked, world } = await webhookWorld(t, { PCC_WEBHOOKS_START_RUNS: 'true' })
  await github('issues', labelled(7))
  const [done] = await worked()
  assert.equal(done?.state, 'done', done?.outcome ?? '')
  const [run] = await world.store.runs.list()
  assert.deepEqual(run?.target, { kind: 'task', id: done?.tasks })
  // As a daemon would find it that was killed between the two.
  await world.store.transaction(tx => world.store.webhooks.move(done as never, { state: 'starting' }, tx))
  const read = openWebhookSettings(world.daemon, world.settings)
  await workOn({ ...done, state: 'starting' } as never, { daemon: world.daemon, read, chat: async () => '' })
  assert.equal((await worked())[0]?.state, 'done')
  assert.equal((await world.store.runs.list()).length, 1)
  const off = await webhookWorld(t)
  await off.github('issues', labelled(7))
  await off.worked()
  assert.deepEqual(await off.world.store.runs.list(), [])
})

test('webhooks.max_returns: a failed check of the newest commit goes back to the conversation, and at most so often', async t => {
  const { github, worked, task, session, tip, agent, done } = await doneTask(t, { PCC_WEBHOOKS_MAX_RETURNS: '1' })
  const branch = `pcc/${task?.id}`
  await github('check_run', failedCheck(branch, 'e'.repeat(40)))
  const outdated = (await worked()).at(-1)
  assert.deepEqual([outdated?.state, /not the newest/.test(outdated?.outcome ?? '')], ['refused', true])

  const elsewhere = failedCheck(branch, tip)
  elsewhere.repository.full_name = 'octo/other'
  await github('check_run', elsewhere)
  assert.match((await worked()).at(-1)?.outcome ?? '', /belongs to another project/)

  const before = agent.prompts.length
  await github('check_run', failedCheck(branch, tip))
  assert.equal((await worked()).at(-1)?.state, 'done')
  while (agent.prompts.length === before) await soon()
  assert.match(agent.prompts.at(-1) ?? '', /A check of your work failed after it was pushed: tests \(failure\)/)
  const again = await done()
  assert.deepEqual(
    [again.task?.attempt, again.session?.id, again.session?.vendor_id],
    [task?.attempt, session?.id, session?.vendor_id],
  )
  assert.notEqual(again.tip, tip, 'its new work is on the branch')

  await github('check_run', failedCheck(branch, again.tip, 'tests again'))
  const last = (await worked()).at(-1)
  assert.deepEqual([last?.state, /went back 1 times already/.test(last?.outcome ?? '')], ['refused', true])
})

test('messages of one pull request end in the same state in whatever order, and however often, they come', async t => {
  const { github, worked, task, tip, done, world, agent } = await doneTask(t)
  const branch = `pcc/${task?.id}`
  const merged = mergedPull(branch)
  const messages: [string, Payload][] = [
    ['pull_request', merged],
    ['check_run', failedCheck(branch, tip)],
    ['check_run', failedCheck(branch, 'e'.repeat(40))],
    ['issues', labelled(7, payload => Object.assign(payload.issue, { body: 'late' }))],
  ]
  let round = 0
  await fc.assert(
    fc.asyncProperty(fc.shuffledSubarray([0, 1, 2, 3, 0, 1, 2, 3], { minLength: 8 }), async order => {
      round += 1
      for (const at of order) {
        const [event, payload] = messages[at] ?? ['', {}]
        await github(event, { ...payload, round })
      }
      await worked()
      await done()
      while (agent.open() > 0) await soon()
      assert.deepEqual(
        (await world.store.tasks.list({})).map(({ state }) => state),
        ['done'],
      )
      // The merge was among them, so nothing goes back any more.
      const prompts = agent.prompts.length
      await github('check_run', { ...failedCheck(branch, tip), round: `${round} later` })
      assert.match((await worked()).at(-1)?.outcome ?? '', /merged already|not the newest|is gone|busy|conversation/)
      assert.equal(agent.prompts.length, prompts)
    }),
    { numRuns: 5 },
  )
})

test('a merged pull request ends its task in any state', async t => {
  const { github, worked, world } = await webhookWorld(t)
  await github('issues', labelled(7))
  await worked()
  const [task] = await world.store.tasks.list({})
  await github('pull_request', mergedPull(`pcc/${task?.id}`))
  const last = (await worked()).at(-1)
  assert.equal(last?.state, 'done', last?.outcome ?? '')
  const [ended] = await world.store.tasks.list({})
  assert.deepEqual([ended?.state, ended?.reason], ['done', `its pull request was merged as ${'d'.repeat(10)}`])
  await github('pull_request', mergedPull('pcc/t-ffffff'))
  assert.match((await worked()).at(-1)?.outcome ?? '', /no task for the branch/)
})

test('two workers that find the same message do it once', async t => {
  const { github, worked, world } = await webhookWorld(t)
  await world.daemon.webhooks.close()
  await github('issues', labelled(7))
  const [row] = await world.store.webhooks.due(Date.now(), 9)
  const read = openWebhookSettings(world.daemon, world.settings)
  const deps: WebhookWorkDeps = { daemon: world.daemon, read, chat: async () => '' }
  await Promise.all([workOn(row as never, deps), workOn(row as never, deps)])
  assert.deepEqual([(await worked())[0]?.state, (await world.store.tasks.list({})).length], ['done', 1])
})

test('webhooks.keep_days: what is over is forgotten after that, and what waits is not', async t => {
  const { github, worked, world } = await webhookWorld(t)
  await github('issues', labelled(7))
  await worked()
  await world.store.webhooks.prune(Date.now() - 1_000, 200)
  assert.equal((await world.store.webhooks.list({ limit: 9 })).length, 1)
  await world.daemon.webhooks.close()
  await github('issues', labelled(8))
  await world.store.webhooks.prune(Date.now() + 1_000, 200)
  assert.deepEqual(
    (await world.store.webhooks.list({ limit: 9 })).map(({ state }) => state),
    ['waiting'],
  )
})
