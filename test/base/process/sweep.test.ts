import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { secretId } from '../../../src/base/ids.ts'
import { brandCommand, type Marker, sessionMarker } from '../../../src/base/process/marker.ts'
import { startTimeOf } from '../../../src/base/process/process-table.ts'
import { findMarked, sweepMarked } from '../../../src/base/process/sweep.ts'
import { allStarted, messyTool } from './messy-tool.ts'

const PATH = '/usr/bin:/bin'

test('marked processes are found with pid, start time and command line', async t => {
  const marker = sessionMarker(secretId())
  const child = await sleeper(t, environment(marker))
  const [found, ...more] = await findMarked(marker)
  assert.deepEqual(found, { pid: child.pid, startTime: await startTimeOf(child.pid ?? 0), command: 'sleep 600' })
  assert.deepEqual(more, [])
})

test('a double fork that keeps its environment is found by the marker', async t => {
  const marker = sessionMarker(secretId())
  const tool = messyTool(t, 'exit')
  await once(spawn('/bin/sh', ['-c', tool.script], { env: environment(marker), stdio: 'ignore' }), 'exit')
  await allStarted(tool)
  await sweepMarked(marker)
  // The two that dropped their environment and lost their parent have no brand here.
  assert.equal(tool.survivors().length, 2)
})

test('a double fork that drops its environment is found by the brand', async t => {
  const marker = sessionMarker(secretId())
  const tool = messyTool(t, 'exit')
  const { command, args } = brandCommand(marker, '/bin/sh', ['-c', tool.script])
  await once(spawn(command, args, { env: { PATH }, stdio: 'ignore' }), 'exit')
  await allStarted(tool)
  const { killed, left } = await sweepMarked(marker)
  assert.deepEqual([killed.length, left, tool.survivors()], [5, [], []])
})

test('a tool that keeps starting processes without the marker is ended with all its descendants', async t => {
  const marker = sessionMarker(secretId())
  const tool = messyTool(t, 'while :; do env -i sleep $length & sleep 0.01; done')
  const busy = spawn('/bin/sh', ['-c', tool.script], { env: environment(marker), stdio: 'ignore' })
  const exit = once(busy, 'exit')
  await allStarted(tool)
  assert.deepEqual((await sweepMarked(marker)).left, [])
  assert.deepEqual(await exit, [null, 'SIGKILL'])
  // Only the one without parent, environment and brand is left.
  assert.equal(tool.survivors().length, 1)
})

test('a sweep never ends the process that sweeps, even if it carries the marker', async () => {
  const program = `
    import { sweepMarked } from ${JSON.stringify(new URL('../../../src/base/process/sweep.ts', import.meta.url).href)}
    const { killed } = await sweepMarked({ name: 'PCC_SESSION_MARK', value: process.env.PCC_SESSION_MARK })
    console.log(killed.length)`
  const env = environment(sessionMarker(secretId()))
  const child = spawn(process.execPath, ['--input-type=module-typescript', '-e', program], { env })
  const [[output], exit] = await Promise.all([once(child.stdout, 'data'), once(child, 'exit')])
  assert.deepEqual([String(output).trim(), exit], ['0', [0, null]])
})

test('a sweep with nothing to find ends nothing', async () => {
  assert.deepEqual(await sweepMarked(sessionMarker(secretId())), { killed: [], left: [] })
})

test('a sweep ends exactly the processes with its marker', async t => {
  const value = fc.stringMatching(/^[a-z0-9]{1,8}$/)
  const neighbours = fc.record({
    ours: value,
    longer: value,
    others: fc.array(value, { maxLength: 3 }),
    run: fc.uuid(),
  })
  await fc.assert(
    fc.asyncProperty(neighbours, async ({ ours, longer, others, run }) => {
      const marker = sessionMarker(run + ours)
      const strangers = [
        { PATH },
        environment(sessionMarker(run + ours + longer)),
        environment(sessionMarker(longer + run + ours)),
        environment({ name: `X${marker.name}`, value: marker.value }),
        { PATH, NOTE: `${marker.name}=${marker.value}` },
        ...others.filter(other => other !== ours).map(other => environment(sessionMarker(run + other))),
      ]
      const bystanders = await Promise.all(strangers.map(env => sleeper(t, env)))
      const victims = await Promise.all([sleeper(t, environment(marker)), sleeper(t, environment(marker))])
      const { killed } = await sweepMarked(marker)
      assert.deepEqual(pids(killed), pids(victims))
      for (const one of bystanders) assert.ok(await startTimeOf(one.pid ?? 0), 'a bystander was killed')
      endAll(pids(bystanders))
    }),
    { numRuns: 15 },
  )
})

function environment({ name, value }: Marker): Record<string, string> {
  return { PATH, [name]: value }
}

async function sleeper(t: TestContext, env: Record<string, string>): Promise<ChildProcess> {
  const child = spawn('sleep', ['600'], { env, stdio: 'ignore' })
  t.after(() => child.kill('SIGKILL'))
  await once(child, 'spawn')
  return child
}

function pids(list: { pid?: number | undefined }[]): number[] {
  return list.map(one => one.pid ?? 0).sort((a, b) => a - b)
}

function endAll(numbers: number[]): void {
  for (const pid of numbers) process.kill(pid, 'SIGKILL')
}
