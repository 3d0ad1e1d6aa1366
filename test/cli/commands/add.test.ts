import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { sessionMarker } from '../../../src/base/process/marker.ts'
import { AddedTask } from '../../../src/domain/task.ts'
import { BIN } from '../../support/program.ts'
import { type Outcome, type Pcc, pccFor } from '../pcc.ts'
import { seed } from '../seeded.ts'

test('a task for a stopped session is queued, and pcc says what runs it; status shows the queue', async t => {
  const pcc = await withStopped(t)
  const first = await pcc.run(['add', 'first', 'Add rate limiting\nto all endpoints'])
  assert.equal(first.code, 0, first.stderr)
  const id = /^Task queued: (t-[0-9a-f]{6}) \(Add rate limiting\)\n/.exec(first.stdout)?.[1]
  assert.ok(id, first.stdout)
  assert.match(first.stdout, /\nThe session is stopped\. Run it with: pcc resume s-aaaaaa\n$/)

  const second = await pcc.run(['add', 'aaa', 'Deploy', '--after', id, '--after', 'add rate', '--priority', '-3'])
  assert.equal(second.stdout.split('\n')[1], `It runs after ${id}.`, second.stderr)
  const third = await pcc.run(['add', 's-aaaaaa', 'Write docs', '--priority', '10', '--json'])
  const added = AddedTask.strict().parse(JSON.parse(third.stdout))
  assert.deepEqual([added.will, added.ahead, added.task.priority], ['on_resume', 0, 10])

  const page = (await pcc.run(['status', 'first'])).stdout
  assert.match(page, /\nTask Queue:\n {2}1\. Write docs \(t-\w{6}, priority 10\)\n/)
  assert.match(page, new RegExp(`\\n {2}2\\. Add rate limiting \\(${id}\\)\\n`))
  assert.match(page, new RegExp(`\\n {2}3\\. Deploy \\(t-\\w{6}, priority -3, after ${id}\\)\\n`))
  const json = JSON.parse((await pcc.run(['status', 'first', '--json'])).stdout)
  assert.equal(json.queue[1].description, 'Add rate limiting\nto all endpoints')
  const log = (await pcc.run(['logs', 'first'])).stdout
  assert.match(log, /\[TASK\] queued: Deploy \(t-\w{6}\), after t-\w{6}, priority -3\n/)
})

test('a completed session that cannot go on keeps the task, and pcc says why', async t => {
  const pcc = pccFor(t)
  await seed(pcc, [{ ended_as: 'completed' }])
  const { code, stdout, stderr } = await pcc.run(['add', 'first', 'More'])
  assert.equal(code, 0, stderr)
  assert.match(stdout, /\nThe session could not go on with it: The project path \/nowhere\/project does not exist\.\n/)
  assert.match(stdout, /\nRun it with: pcc resume s-aaaaaa\n$/)
  const { queue } = JSON.parse((await pcc.run(['status', 'first', '--json'])).stdout)
  assert.deepEqual([queue.length, queue[0].title], [1, 'More'])
})

test('the task may come from standard input; what is not text or empty is refused', async t => {
  const pcc = await withStopped(t)
  const long = `From a file\n${'line\n'.repeat(20_000)}`
  const { code, stdout } = await withInput(pcc, ['add', 'first', '-', '--json'], Buffer.from(long))
  assert.equal(code, 0)
  assert.equal(JSON.parse(stdout).task.description, long.trim())
  const binary = await withInput(pcc, ['add', 'first', '-'], Buffer.from([0xff, 0xfe, 0x00]))
  assert.deepEqual([binary.code, /is not UTF-8 text/.test(binary.stderr)], [2, true])
  for (const outcome of [
    await withInput(pcc, ['add', 'first', '-'], Buffer.from(' \n')),
    await pcc.run(['add', 'first', ' ']),
  ]) {
    assert.deepEqual([outcome.code, /The task is empty/.test(outcome.stderr)], [2, true])
  }
})

test('what is mistyped is refused with exit code 2, and says what there is', async t => {
  const pcc = await withStopped(t)
  await pcc.run(['add', 'first', 'Build it'])
  for (const [args, words] of [
    [['add', 'nobody', 'x'], /There is no session "nobody"/],
    [['add', '..', 'x'], /There is no session/],
    [['add', 'first'], /task/],
    [['add', 'first', 'x', '--priority', 'high'], /whole number/],
    [['add', 'first', 'x', '--after', 'deploy'], /has no task "deploy"(.|\n)*It has: t-\w{6} \(Build it\)/],
    [['add', 'first', 'x', '--prority', '3'], /--priority/],
  ] as const) {
    const { code, stderr } = await pcc.run([...args])
    assert.deepEqual([code, words.test(stderr)], [2, true], `${args.join(' ')}: ${stderr}`)
  }
  const { queue } = JSON.parse((await pcc.run(['status', 'first', '--json'])).stdout)
  assert.equal(queue.length, 1)
})

test('an agent inside a session cannot give another session work', async t => {
  const pcc = await withStopped(t)
  const { code, stderr } = await pcc.run(['add', 'first', 'x'], { env: { [sessionMarker('').name]: 'm' } })
  assert.deepEqual([code, /an agent cannot decide for a person/.test(stderr)], [3, true], stderr)
})

async function withStopped(t: TestContext): Promise<Pcc> {
  const pcc = pccFor(t)
  await seed(pcc, [{ ended_as: 'stopped', task_id: null }])
  return pcc
}

async function withInput(pcc: Pcc, args: string[], input: Buffer): Promise<Outcome> {
  const child = spawn(process.execPath, [BIN, ...args], { cwd: pcc.home, env: pcc.env, stdio: 'pipe' })
  child.stdin.end(input)
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  return { code: child.exitCode, stdout, stderr }
}
