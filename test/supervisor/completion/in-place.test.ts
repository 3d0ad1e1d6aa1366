import assert from 'node:assert/strict'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { runWorld } from '../../daemon/runs/run-world.ts'
import { undying } from '../../support/undying.ts'
import { gitProject } from '../../support/world.ts'
import { scriptedAgent } from '../session/scripted-agent.ts'

/** An agent that calls everything done, and does the work only after it was sent back this many times. */
function liar(times: number) {
  let returns = 0
  return scriptedAgent((prompt, _call, cwd) => {
    if (!prompt.includes('does not hold yet')) return { says: () => 'All tests pass.' }
    returns += 1
    if (returns >= times) writeFileSync(join(cwd, 'work.txt'), 'done\n')
    return { says: () => 'Now they pass.' }
  })
}

test('an agent that says that all tests pass is caught, told so in the same conversation, and done when they do', async t => {
  const agent = liar(1)
  const world = await runWorld(t, agent)
  world.settings['PCC_GATES_TEST'] = 'test -f work.txt || { echo "work.txt is missing"; exit 3; }'
  const task = await world.add('make work.txt')
  const { id } = await world.run()
  const { outcome, attempts } = await world.over(id)
  assert.equal(outcome, 'complete')
  assert.ok(existsSync(join(world.project, 'work.txt')))
  const [session] = attempts.map(({ session_id }) => session_id)
  assert.equal(attempts.length, 1, 'it is one attempt')
  assert.equal(agent.prompts.length, 2)
  assert.match(agent.prompts[1] ?? '', /ended with 3[\s\S]*work\.txt is missing/)
  const { body } = await world.call('GET', `/tasks/${task}`)
  assert.equal(body.task.state, 'done')
  assert.equal(body.task.verification, 'passed')
  const kinds = (await world.events(session ?? '')).map(({ kind }) => kind)
  assert.deepEqual(
    kinds.filter(kind => ['task.verified', 'task.returned', 'session.resumed'].includes(kind)),
    ['task.verified', 'task.returned', 'session.resumed', 'task.verified'],
  )
})

test('what never holds goes back as often as gates.rounds says, then to a fresh attempt with the evidence, then it has failed', async t => {
  const agent = liar(1_000)
  const world = await runWorld(t, agent)
  world.settings['PCC_GATES_TEST'] = 'echo "seen: nothing"; exit 1'
  world.settings['PCC_GATES_ROUNDS'] = '2'
  const task = await world.add('impossible', { max_retries: 1 })
  const { id } = await world.run()
  const { outcome, attempts } = await world.over(id)
  assert.equal(outcome, 'failure')
  assert.deepEqual(
    attempts.map(({ outcome }) => outcome),
    ['failed', 'failed'],
  )
  assert.equal(agent.prompts.length, 6, 'a first turn and two rounds, twice')
  assert.match(agent.prompts[3] ?? '', /It was tried before[\s\S]*seen: nothing/)
  const { body } = await world.call('GET', `/tasks/${task}`)
  assert.equal(body.task.state, 'failed')
  assert.match(body.task.reason, /attempt 1[\s\S]*attempt 2/)
})

test('work is not verified while a process of its agent could still change it', async t => {
  const agent = scriptedAgent()
  const world = await runWorld(t, agent)
  world.settings['PCC_GATES_TEST'] = 'echo looked > looked.txt'
  const looked = join(world.project, 'looked.txt')
  const task = await world.add('anything')
  const there = agent.holdAt('last request')
  const { id } = await world.run()
  const goOn = await there
  const [row] = await world.store.sessions.list()
  const left = await undying(t, row?.marker ?? '')
  agent.withstand()
  goOn()
  // With the third kill two checks are over: a person is told of the process once, however often it is checked.
  while (left.kills() < 3 && !existsSync(looked)) {
    world.supervisor.completion.look(task)
    await new Promise(resolve => setImmediate(resolve))
  }
  const [asked, ...others] = (await world.call('GET', '/escalations')).body.escalations
  assert.match(asked.reason, new RegExp(`could not be verified.*\\b${left.pid}\\b`, 's'))
  assert.deepEqual(others, [])
  assert.equal((await world.call('GET', `/tasks/${task}`)).body.task.state, 'verifying')
  assert.equal(existsSync(looked), false)

  left.yield()
  world.supervisor.completion.look(task)
  await left.gone
  await world.call('POST', `/escalations/${asked.number}/answer`, { verdict: 'allow' })
  assert.equal((await world.over(id)).outcome, 'complete')
  assert.ok(existsSync(looked))
})

test('a run that is not to verify takes the word of its agents, and says so', async t => {
  const agent = scriptedAgent()
  const world = await runWorld(t, agent)
  world.settings['PCC_GATES_TEST'] = 'exit 1'
  const task = await world.add('anything')
  const { id } = await world.run({ verify: false })
  assert.equal((await world.over(id)).outcome, 'complete')
  const { body } = await world.call('GET', `/tasks/${task}`)
  assert.deepEqual([body.task.state, body.task.verification], ['done', 'unverified'])
})

test('with worktrees off, tampering is caught in the project itself, by a fresh attempt after it too', async t => {
  const path = 'test/a.test.ts'
  const check = "import assert from 'node:assert/strict'\ntest('two', () => { assert.equal(1 + 1, 2) })\n"
  let turns = 0
  const agent = scriptedAgent((_prompt, _call, cwd) => {
    turns += 1
    if (turns === 1) writeFileSync(join(cwd, path), "test('two', () => { })\n")
    // The second attempt does something else, and leaves the test as the first one changed it.
    if (turns === 3) writeFileSync(join(cwd, 'work.txt'), 'done\n')
    if (turns === 4) writeFileSync(join(cwd, path), check)
    return { says: () => 'All tests pass.' }
  })
  const world = await runWorld(t, agent, gitProject(t, { [path]: check }))
  world.settings['PCC_WORKTREES_MODE'] = 'off'
  world.settings['PCC_GATES_TEST'] = 'true'
  world.settings['PCC_GATES_ROUNDS'] = '1'
  const task = await world.add('do it', { max_retries: 1 })
  const { id } = await world.run()
  const { outcome } = await world.over(id)
  assert.equal(outcome, 'complete')
  assert.equal(turns, 4, 'told once in each of two attempts')
  assert.match(agent.prompts[3] ?? '', /two/)
  assert.equal((await world.call('GET', `/tasks/${task}`)).body.task.verification, 'passed')
})
