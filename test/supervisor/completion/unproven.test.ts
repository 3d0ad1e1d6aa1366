import assert from 'node:assert/strict'
import { rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { EscalationView, NeedsReply } from '../../../src/domain/escalation.ts'
import type { StoredEvent } from '../../../src/domain/event.ts'
import { scriptedAgent, type Turn } from '../session/scripted-agent.ts'
import { type LandWorld, landWorld, write } from './completion-world.ts'

const CHECKS = {
  'package.json': '{"name":"sample","scripts":{"test":"node test.js"}}\n',
  'test.js': 'process.exit(1)\n',
}

/** An agent that writes a file for each task, or nothing; asked to judge, it says what the script has next. */
function worker(files: readonly (string | undefined)[], ...opinions: string[]) {
  const left = [...files]
  return scriptedAgent((prompt, _call, cwd): Turn => {
    if (/Another agent says|cannot be used/.test(prompt)) return { says: () => opinions.shift() ?? 'no opinion' }
    const file = left.shift()
    return { says: () => (file === undefined ? 'All tests pass.' : write(cwd, file, `${file}\n`)) }
  })
}

/** A world in which work that nothing proves waits, as it does by default. */
async function strictWorld(t: TestContext, agent: ReturnType<typeof worker>, files?: Record<string, string>) {
  const world = await landWorld(t, agent, files)
  world.settings['PCC_GATES_UNPROVEN'] = 'ask'
  return world
}

async function verified(world: LandWorld): Promise<void> {
  for await (const { kind } of world.store.follow(0)) if (kind === 'task.verified') return
}

async function asked(world: LandWorld): Promise<EscalationView[]> {
  return (await world.call('GET', '/escalations')).body.escalations
}

test('work of a project whose checks nobody agreed to stays on its branch, says what to type, and is checked once it can be', async t => {
  const agent = worker(['a.txt', 'b.txt'], '<verify-pass/>')
  const world = await strictWorld(t, agent, CHECKS)
  const task = await world.add('make a.txt', { acceptance: ['a.txt is there'] } as object)
  const next = await world.add('make b.txt', { after: ['make a.txt'] })
  const { id } = await world.run()
  await verified(world)
  const [row, ...others] = await asked(world)
  assert.deepEqual([row?.kind, others.length], ['review', 0])
  assert.match(row?.reason ?? '', /checks of this project are not set up: npm test/)
  assert.match(row?.reason ?? '', /pcc gates detect \S+ --write --trust/)
  assert.match(row?.reason ?? '', new RegExp(`pcc review ${task}`))
  const { needs, escalations } = (await world.call('GET', `/needs?session=${row?.session_id}`)).body as NeedsReply
  assert.match(
    needs.map(({ key, next }) => `${key} ${next}`).join(),
    /^unchecked:\S+ pcc gates detect \S+ --write --trust$/,
  )
  assert.deepEqual(
    escalations.map(({ number }) => number),
    [row?.number],
    'its number still answers it',
  )
  assert.throws(() => world.git('show', 'main:a.txt'), 'it is not merged')
  assert.deepEqual([(await world.task(task)).state, (await world.task(next)).state], ['verifying', 'blocked'])
  assert.equal(agent.prompts.length, 1, 'no opinion takes the place of the checks, and nothing after it begins')
  assert.equal((await world.detail(id)).state, 'running')

  world.settings['PCC_GATES_TEST'] = 'true'
  await world.supervisor.completion.checkAgain()
  const over = await world.over(id)
  assert.deepEqual([over.outcome, over.reason], ['complete', 'every task is done'])
  assert.equal((await asked(world)).filter(({ state }) => state === 'open').length, 0)
  assert.equal(world.git('show', 'main:b.txt'), 'b.txt')
})

test('a project file that nobody trusts checks nothing, and the row says so', async t => {
  const settings = '[gates]\ntest = "true"\n'
  const world = await strictWorld(t, worker(['a.txt']), { ...CHECKS, '.perpetualcc.toml': settings })
  await world.add('make a.txt')
  await world.run()
  await verified(world)
  const [row] = await asked(world)
  assert.match(row?.reason ?? '', /not agreed to the checks of this project: gates\.test.*pcc trust/s)
  assert.throws(() => world.git('show', 'main:a.txt'))
})

test('a command of the person for all projects does not stand in for checks that a project names itself', async t => {
  const settings = '[gates]\ntest = "true"\n'
  const world = await strictWorld(t, worker(['a.txt']), { '.perpetualcc.toml': settings })
  writeFileSync(join(dirname(world.runDir), 'config.toml'), '[gates]\ntest = "test -f a.txt"\n')
  await world.add('make a.txt')
  await world.run()
  await verified(world)
  const [row] = await asked(world)
  assert.match(row?.reason ?? '', /not agreed to the checks of this project: gates\.test.*pcc trust/s)
  assert.throws(() => world.git('show', 'main:a.txt'))
})

test('unproven work that a person accepts is merged, and the run says that it is unverified', async t => {
  const world = await strictWorld(t, worker(['a.txt']), CHECKS)
  const task = await world.add('make a.txt')
  const { id } = await world.run()
  await verified(world)
  const [row] = await asked(world)
  const reply = await world.call('POST', `/escalations/${row?.number}/answer`, { verdict: 'allow' })
  assert.equal(reply.status, 200)
  const over = await world.over(id)
  assert.equal(over.outcome, 'complete')
  assert.match(over.reason ?? '', /^every task is done, 1 of 1 unverified \(.*not set up: npm test; pcc gates detect/)
  assert.deepEqual([over.unverified, over.merged], [1, 1])
  assert.equal((await world.task(task)).verification, 'unverified')
  assert.equal(world.git('show', 'main:a.txt'), 'a.txt')
})

test('unproven work that a person returns goes back with their words, and is asked about again', async t => {
  const agent = worker(['a.txt', 'b.txt'])
  const world = await strictWorld(t, agent, CHECKS)
  const task = await world.add('make a.txt')
  await world.run()
  await verified(world)
  const [row] = await asked(world)
  await world.call('POST', `/escalations/${row?.number}/answer`, { verdict: 'deny', reason: 'and b.txt' })
  for await (const event of world.store.follow(0))
    if (event.kind === 'task.verified' && 'round' in event.body && event.body.round === 2) break
  assert.match(agent.prompts[1] ?? '', /and b\.txt/)
  assert.equal((await world.task(task)).state, 'verifying')
  assert.equal((await asked(world)).filter(({ state }) => state === 'open').length, 1)
})

test('where a project has no checks at all the verifier is asked, and its word proves the work', async t => {
  const world = await strictWorld(t, worker(['a.txt'], '<verify-pass/>'))
  const task = await world.add('make a.txt')
  const { id } = await world.run()
  assert.equal((await world.over(id)).reason, 'every task is done')
  assert.equal((await world.task(task)).verification, 'passed')
  assert.equal(world.git('show', 'main:a.txt'), 'a.txt')
})

test('a task that changed nothing is done only when the verifier says so', async t => {
  const agent = worker([undefined, 'a.txt'], '<verify-fail>there is no a.txt</verify-fail>')
  const world = await strictWorld(t, agent)
  world.settings['PCC_GATES_TEST'] = 'true'
  const task = await world.add('make a.txt')
  const { id } = await world.run()
  assert.equal((await world.over(id)).reason, 'every task is done')
  assert.match(agent.prompts[2] ?? '', /there is no a\.txt/)
  assert.equal((await world.task(task)).verification, 'passed')
  assert.equal(world.git('show', 'main:a.txt'), 'a.txt')
})

test('without a verifier a task that changed nothing waits for a person', async t => {
  const world = await strictWorld(t, worker([undefined]))
  Object.assign(world.settings, { PCC_GATES_TEST: 'true', PCC_GATES_VERIFIER: 'off' })
  const task = await world.add('make a.txt')
  const { id } = await world.run()
  await verified(world)
  const [row] = await asked(world)
  assert.match(row?.reason ?? '', /It changed nothing, and no verifier/)
  assert.equal((await world.task(task)).state, 'verifying')
  assert.equal((await world.detail(id)).state, 'running')
})

test('work in the project itself that nothing proves is not done either, and what comes after it waits', async t => {
  const world = await strictWorld(t, worker(['a.txt']), CHECKS)
  world.settings['PCC_WORKTREES_MODE'] = 'off'
  const task = await world.add('make a.txt')
  const next = await world.add('make b.txt', { after: ['make a.txt'] })
  await world.run()
  await verified(world)
  assert.deepEqual([(await world.task(task)).state, (await world.task(next)).state], ['verifying', 'blocked'])
  const [row] = await asked(world)
  assert.match(row?.reason ?? '', /count it as done/)
})

test('without git no verifier can judge, so a person is asked, and their yes counts', async t => {
  const world = await strictWorld(t, worker(['a.txt']), { 'README.md': 'x\n' })
  rmSync(join(world.project, '.git'), { recursive: true, force: true })
  const task = await world.add('make a.txt')
  const { id } = await world.run()
  await verified(world)
  const [row] = await asked(world)
  assert.deepEqual([row?.kind, (await world.task(task)).state], ['review', 'verifying'])
  await world.call('POST', `/escalations/${row?.number}/answer`, { verdict: 'allow', env: {} })
  assert.equal((await world.over(id)).outcome, 'complete')
})

test('gates.unproven = "allow" and --no-verify merge it unverified, and the run says so', async t => {
  for (const how of ['allow', 'no-verify'] as const) {
    const world = await strictWorld(t, worker(['a.txt']), CHECKS)
    if (how === 'allow') world.settings['PCC_GATES_UNPROVEN'] = 'allow'
    const task = await world.add('make a.txt')
    const { id } = await world.run(how === 'allow' ? {} : { verify: false })
    const why = how === 'allow' ? 'the checks of this project' : 'without verification, as --no-verify'
    const { reason } = await world.over(id)
    assert.ok(reason?.startsWith(`every task is done, 1 of 1 unverified (${why}`), String(reason))
    assert.equal((await world.task(task)).verification, 'unverified')
    assert.equal(world.git('show', 'main:a.txt'), 'a.txt')
  }
})

test('work that loses its checks on the way to the target is merged only when a person accepts that', async t => {
  const agent = worker(['a.txt'])
  const world = await strictWorld(t, agent, CHECKS)
  world.settings['PCC_GATES_TEST'] = 'true'
  world.settings['PCC_MERGE_REVIEW'] = 'required'
  const task = await world.add('make a.txt')
  const { id } = await world.run()
  for await (const { kind } of world.store.follow(0)) if (kind === 'task.merging') break
  const [row] = await asked(world)
  // The target moves, so that the work is verified again on top of it; by then nobody agrees to the checks any more.
  writeFileSync(join(world.project, 'c.txt'), 'c\n')
  world.git('add', 'c.txt')
  world.git('-c', 'user.name=T', '-c', 'user.email=t@example.invalid', 'commit', '-q', '-m', 'meanwhile')
  delete world.settings['PCC_GATES_TEST']
  await world.call('POST', `/escalations/${row?.number}/answer`, { verdict: 'allow' })
  for await (const { kind, body } of world.store.follow(0))
    if (kind === 'session.noted' && 'text' in body && /has to look|is not done yet/.test(String(body.text))) break
  assert.throws(() => world.git('show', 'main:a.txt'))
  const question = (await asked(world)).find(({ state }) => state === 'open')
  assert.deepEqual([question?.kind, question?.tool, question?.input['untilChecked']], ['review', 'accept', true])
  assert.match(question?.reason ?? '', /^Nothing has checked it: .*pcc review t-/)
  assert.equal((await world.task(task)).state, 'verifying')

  await world.call('POST', `/escalations/${question?.number}/answer`, { verdict: 'allow' })
  assert.equal((await world.over(id)).outcome, 'complete')
  assert.equal(world.git('show', 'main:a.txt'), 'a.txt')
})

const RED = {
  'sum.test.mjs': "import { test } from 'node:test'\ntest('adds', () => { throw new Error('no') })\n",
}

/** A world whose only test fails before any work. */
async function redWorld(t: TestContext, agent: ReturnType<typeof worker>): Promise<LandWorld> {
  const world = await strictWorld(t, agent, RED)
  world.settings['PCC_GATES_TEST'] = 'node --test'
  return world
}

async function verifiedTimes(world: LandWorld, times: number): Promise<StoredEvent[]> {
  const events: StoredEvent[] = []
  for await (const event of world.store.follow(0)) {
    if (event.kind === 'task.verified') events.push(event)
    if (events.length === times) break
  }
  return events
}

test('work that leaves only a test red that was red before goes back once, then waits in one row, and goes on when that is allowed', async t => {
  const agent = worker(['a.txt', undefined, 'b.txt', undefined])
  const world = await redWorld(t, agent)
  const tasks = [await world.add('make a.txt'), await world.add('make b.txt')]
  const { id } = await world.run()
  const events = await verifiedTimes(world, 4)
  assert.equal(agent.prompts.length, 4, 'each was told once, and nothing was tried anew')
  assert.match(agent.prompts[1] ?? '', /did not fail before you began/)
  const problem = 'test (node --test) failed: only tests fail that failed before the work, too: adds'
  assert.deepEqual(
    events.map(({ body }) => 'problem' in body && body.problem),
    Array(4).fill(problem),
  )
  const { needs } = (await world.call('GET', '/needs')).body as NeedsReply
  assert.deepEqual(
    needs.map(({ kind, count, next }) => [kind, count, next]),
    [['review', 2, `pcc config set gates.known_failures allow --project ${needs[0]?.project}`]],
  )
  assert.match(
    needs[0]?.text ?? '',
    new RegExp(`adds\\. Let a task mend that.*pcc review ${tasks[0]}, pcc review ${tasks[1]}`),
  )
  assert.throws(() => world.git('show', 'main:a.txt'), 'it is not merged')

  world.settings['PCC_GATES_KNOWN_FAILURES'] = 'allow'
  await world.supervisor.completion.checkAgain()
  assert.equal((await world.over(id)).outcome, 'complete')
  assert.equal(world.git('show', 'main:b.txt'), 'b.txt')
  assert.equal(agent.prompts.length, 4, 'the work itself was not done again')
})

test('a person may accept work that leaves an old failure: it is merged, also behind other such work, and counts as unverified', async t => {
  const world = await redWorld(t, worker(['a.txt', undefined, 'b.txt', undefined]))
  const tasks = [await world.add('make a.txt'), await world.add('make b.txt')]
  const { id } = await world.run()
  await verifiedTimes(world, 4)
  for (const { number } of await asked(world))
    assert.equal((await world.call('POST', `/escalations/${number}/answer`, { verdict: 'allow' })).status, 200)
  const { outcome, unverified, merged } = await world.over(id)
  assert.deepEqual([outcome, unverified, merged], ['complete', 2, 2])
  assert.equal((await world.task(tasks[1] ?? '')).verification, 'unverified')
  assert.equal(world.git('show', 'main:b.txt'), 'b.txt')
})
