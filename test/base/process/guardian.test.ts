import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { secretId } from '../../../src/base/ids.ts'
import { type GuardedChild, openGuard, spawnGuarded } from '../../../src/base/process/guardian.ts'
import { sessionMarker } from '../../../src/base/process/marker.ts'
import { findMarked } from '../../../src/base/process/sweep.ts'
import { bareEnv, tempDir } from '../../support/world.ts'
import { allStarted, messyTool } from './messy-tool.ts'

const machine = openGuard()
const levels = [...new Set([machine.level('marker'), machine.level('namespace')])]

for (const level of levels) {
  const start = (t: TestContext, ...command: [string, ...string[]]): GuardedChild => {
    const [program, ...args] = command
    const marker = sessionMarker(secretId())
    const child = machine.spawn({ command: program, args, env: bareEnv(tempDir(t)), cwd: '/', marker }, level)
    t.after(() => child.end())
    return child
  }
  const shell = (t: TestContext, script: string) => start(t, '/bin/sh', '-c', script)

  test(`${level}: the requested level is the effective level`, async t => {
    const child = shell(t, 'readlink /proc/self/ns/pid')
    const inside = (await text(child.stdout)).trim()
    assert.equal(child.level, level)
    assert.equal(inside === readlinkSync('/proc/self/ns/pid'), level === 'marker')
  })

  test(`${level}: input, output, errors and their ends pass through`, async t => {
    const child = start(t, '/bin/sh', '-c', 'cat; echo problem >&2')
    child.stdin.end('one\ntwo\n')
    const [output, errors, exit] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')])
    assert.deepEqual([output, errors, exit], ['one\ntwo\n', 'problem\n', [0, null]])
  })

  test(`${level}: the exit code passes through`, async t => {
    assert.deepEqual(await once(shell(t, 'exit 7'), 'exit'), [7, null])
  })

  test(`${level}: death by a signal passes through, without a word of ours on the agent's output`, async t => {
    const child = shell(t, 'kill -SEGV $$')
    const [exit, errors] = await Promise.all([once(child, 'exit'), text(child.stderr)])
    assert.deepEqual([exit, errors], [[null, 'SIGSEGV'], ''])
  })

  test(`${level}: kill() reaches the agent, which may catch the signal`, async t => {
    const child = shell(t, 'trap "exit 5" TERM; echo ready; while :; do sleep 0.05; done')
    await once(child.stdout, 'data')
    assert.equal(child.killed, false)
    assert.equal(child.kill('SIGTERM'), true)
    assert.equal(child.killed, true)
    assert.deepEqual(await once(child, 'exit'), [5, null])
    assert.equal(child.kill('SIGTERM'), false)
  })

  test(`${level}: kill() with no handler ends the agent by that signal`, async t => {
    const child = shell(t, 'echo ready; exec sleep 600')
    await once(child.stdout, 'data')
    child.kill('SIGTERM')
    assert.deepEqual(await once(child, 'exit'), [null, 'SIGTERM'])
  })

  test(`${level}: a missing program is an error event, and nothing is left behind`, async t => {
    const child = start(t, '/nonexistent/agent')
    const [error] = await once(child, 'error')
    assert.equal(error.code, 'ENOENT')
    assert.deepEqual(await child.end(), [])
  })

  test(`${level}: processes that an agent leaves when it exits are ended`, async t => {
    const tool = messyTool(t, 'read go; exit 3')
    const child = shell(t, tool.script)
    await allStarted(tool)
    child.stdin.end('go\n')
    assert.deepEqual(await once(child, 'exit'), [3, null])
    assert.deepEqual(await child.end(), [])
    assert.deepEqual(tool.survivors(), [])
  })

  test(`${level}: processes that an agent leaves when it is killed are ended without a call`, async t => {
    const tool = messyTool(t, 'cat /proc/self/stat; exec sleep 600')
    const child = shell(t, tool.script)
    await allStarted(tool)
    const { pid: agent } = await agentOf(child)
    process.kill(agent, 'SIGKILL')
    assert.deepEqual(await once(child, 'exit'), [null, 'SIGKILL'])
    await tool.untilNone()
  })

  test(`${level}: end() kills the agent and its tools, and may be called again`, async t => {
    const tool = messyTool(t, 'trap "" TERM; cat')
    const child = shell(t, tool.script)
    await allStarted(tool)
    const exit = once(child, 'exit')
    assert.deepEqual(await Promise.all([child.end(), child.end()]), [[], []])
    assert.deepEqual(tool.survivors(), [])
    assert.deepEqual(await exit, [null, 'SIGKILL'])
    assert.deepEqual(await child.end(), [])
  })

  test(`${level}: a child that dropped environment and brand is found below its parent`, async t => {
    const bare = '{ ulimit -S -w unlimited || ulimit -S -x unlimited; } 2>/dev/null; exec env -i setsid sleep $length'
    const tool = messyTool(t, `(${bare}) & cat`)
    const child = shell(t, tool.script)
    await allStarted(tool, 6)
    assert.deepEqual(await child.end(), [])
    assert.deepEqual(tool.survivors(), [])
  })

  test(`${level}: leaving the scope ends the child`, async () => {
    const marker = sessionMarker(secretId())
    {
      await using child = spawnGuarded({ command: 'cat', args: [], env: bareEnv('/'), marker, isolation: level })
      assert.ok((await findMarked(marker)).some(found => found.pid === child.pid))
    }
    assert.deepEqual(await findMarked(marker), [])
  })

  test(`${level}: the agent inherits three descriptors and no more, the watched pipe least of all`, async t => {
    const child = shell(t, 'ls /proc/self/fd | sort -n | tr "\\n" " "')
    const own = readdirSync('/proc/self/fd').filter(fd => inherited(fd))
    // The last one is the folder that ls reads.
    assert.equal((await text(child.stdout)).trim().split(' ').length, new Set(['0', '1', '2', ...own]).size + 1)
  })

  test(`${level}: the agent sees its marker and otherwise only the environment it was given`, async t => {
    const child = start(t, '/usr/bin/env')
    const lines = (await text(child.stdout)).trim().split('\n')
    const names = lines.map(line => line.split('=')[0]).filter(name => name !== 'PWD')
    assert.deepEqual(names.sort(), [...Object.keys(bareEnv('/')), child.marker.name].sort())
    assert.ok(lines.includes(`${child.marker.name}=${child.marker.value}`))
  })

  test(`${level}: the agent's own pid is the one its owner sees, so no two agents share one`, async t => {
    const child = shell(t, 'echo $$')
    assert.equal(Number(await text(child.stdout)), child.pid)
  })

  test(`${level}: fifty agents one after another leave no process and no descriptor`, async t => {
    const before = readdirSync('/proc/self/fd').length
    const markers = []
    for (let i = 0; i < 50; i++) {
      const child = shell(t, 'setsid sleep 600 & exit 0')
      markers.push(child.marker)
      child.stdout.resume()
      child.stderr.resume()
      child.stdin.end()
      await Promise.all([once(child, 'close'), child.end()])
    }
    for (const marker of markers) assert.deepEqual(await findMarked(marker), [])
    assert.equal(readdirSync('/proc/self/fd').length, before)
  })
}

/** The process below the helpers: the one whose parent is the init, or the child itself. */
async function agentOf(child: GuardedChild): Promise<{ pid: number }> {
  if (child.level === 'marker') return { pid: child.pid ?? 0 }
  const family = await findMarked(child.marker)
  const agent = family.find(found => innerNumber(found.pid) === child.pid)
  assert.ok(agent)
  return agent
}

function innerNumber(pid: number): number {
  return Number(/^NSpid:.*\s(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])
}

/** Descriptors that this test run itself was given to hand on: those without close-on-exec. */
function inherited(fd: string): boolean {
  try {
    const flags = /^flags:\s*(\d+)/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8'))?.[1] ?? '0'
    return (Number.parseInt(flags, 8) & 0o2000000) === 0
  } catch {
    return false // the descriptor of the listing itself
  }
}
