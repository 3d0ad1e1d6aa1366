import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, watch, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { appPathsFor } from '../../src/base/app-paths.ts'
import {
  findLivingParent,
  findRestarter,
  readDeaths,
  readVerdict,
  recordParent,
  wrapInParent,
} from '../../src/daemon/parent-process.ts'
import { bareEnv, tempDir } from '../support/world.ts'

/** A parent with a stand-in for the daemon: a shell script that records its number in `lives` and acts by it. */
function parentOf(t: TestContext, life: string, { most = 4, healthyS = 60, unitS = 0 } = {}) {
  const dir = tempDir(t)
  const paths = { ...appPathsFor({ env: { PCC_HOME: dir } }), run: dir, logs: dir }
  const lives = join(dir, 'lives')
  writeFileSync(lives, '')
  const script = `echo $$ >>"${lives}"; n=$(wc -l <"${lives}"); ${life}`
  const { command, args } = wrapInParent(['/bin/sh', '-c', script], paths, { most, healthyS, unitS })
  const child = spawn(command, args, { env: bareEnv(dir), stdio: ['ignore', 'pipe', 'ignore'] })
  t.after(() => child.kill('SIGKILL'))
  const pids = () => readFileSync(lives, 'utf8').split('\n').filter(Boolean).map(Number)
  return { child, paths, pids, lives, ended: endOf(child) }
}

async function endOf(child: ChildProcess): Promise<number | null> {
  const [code] = (await once(child, 'exit')) as [number | null]
  return code
}

/** Resolves when the stand-in has begun its `n`th life. */
async function lifeBegins(world: ReturnType<typeof parentOf>, n: number): Promise<number> {
  for await (const _ of changesOf(world.lives)) {
    const pid = world.pids()[n - 1]
    if (pid) return pid
  }
  throw new Error('unreachable')
}

async function* changesOf(file: string): AsyncGenerator<void> {
  const watcher = watch(file)
  try {
    for (yield; ; yield) await Promise.race([once(watcher, 'change'), new Promise(r => setTimeout(r, 100))])
  } finally {
    watcher.close()
  }
}

test('a daemon that dies by a signal or fails inside is started again; one that ends by itself is not', async t => {
  const world = parentOf(t, 'case $n in 1) kill -9 $$ ;; 2) exit 70 ;; 3) kill -ABRT $$ ;; esac; exit 0')
  assert.equal(await world.ended, 0)
  assert.equal(world.pids().length, 4)
  const deaths = readDeaths(world.paths)
  assert.deepEqual(
    deaths.map(({ code, pid }) => [code, pid]),
    [137, 70, 134].map((code, index) => [code, world.pids()[index]]),
  )
  assert.equal(readVerdict(world.paths), undefined)
})

test('after too many deaths in a row it gives up and leaves a word about it', async t => {
  const world = parentOf(t, 'kill -9 $$', { most: 3 })
  assert.equal(await world.ended, 1)
  assert.equal(world.pids().length, 3)
  const verdict = readVerdict(world.paths)
  assert.deepEqual([verdict?.deaths, verdict?.code, verdict?.why], [3, 137, 'died'])
})

test('lives that are long enough are not counted as a row of deaths', async t => {
  const world = parentOf(t, '[ $n -lt 6 ] && kill -9 $$; exit 0', { most: 3, healthyS: 0 })
  assert.equal(await world.ended, 0)
  assert.equal(world.pids().length, 6)
})

test('a first start that is refused is told by its code and not tried again', async t => {
  for (const code of [1, 2, 5, 75]) {
    const world = parentOf(t, `exit ${code}`)
    assert.equal(await world.ended, code)
    assert.equal(world.pids().length, 1)
  }
})

test('later a refusal that no other try mends is the end, and so is another daemon', async t => {
  for (const [code, exit, why] of [
    [2, 1, 'refused'],
    [5, 1, 'refused'],
    [75, 75, undefined],
  ] as const) {
    const world = parentOf(t, `[ $n = 1 ] && kill -9 $$; exit ${code}`)
    assert.equal(await world.ended, exit)
    assert.equal(world.pids().length, 2)
    assert.equal(readVerdict(world.paths)?.why, why)
  }
  const passing = parentOf(t, '[ $n = 1 ] && kill -9 $$; [ $n = 2 ] && exit 1; exit 0')
  assert.equal(await passing.ended, 0)
  assert.equal(passing.pids().length, 3, 'a disk that was full may have space again')
})

test('a signal is passed on, and whatever the daemon ends with then is the end', async t => {
  for (const signal of ['TERM', 'HUP'] as const) {
    const world = parentOf(t, `trap 'echo ${signal} >>"$0.told"; exit 9' ${signal}; while :; do sleep 0.05; done`)
    await lifeBegins(world, 1)
    await new Promise(resolve => setTimeout(resolve, 150)) // the stand-in sets its trap after it has recorded its life
    world.child.kill(`SIG${signal}`)
    assert.equal(await world.ended, 9, signal)
    assert.equal(world.pids().length, 1)
  }
})

test('a parent that waits before the next try can be ended, and leaves nothing', async t => {
  const world = parentOf(t, 'kill -9 $$', { most: 100, unitS: 600 })
  await lifeBegins(world, 2)
  while (readDeaths(world.paths).length < 2) await new Promise(resolve => setTimeout(resolve, 10))
  await new Promise(resolve => setTimeout(resolve, 100)) // there is nothing to wait for between the record and the sleep
  world.child.kill('SIGTERM')
  await world.ended
  assert.equal(world.pids().length, 2)
  assert.ok(!existsSync(`/proc/${world.child.pid}`))
})

test('a daemon that takes the place ends another parent that only waits, and leaves its own alone', async t => {
  const waiting = parentOf(t, 'kill -9 $$', { most: 100, unitS: 600 })
  await lifeBegins(waiting, 2)
  const { paths, child } = waiting
  await recordParent(paths, child.pid)
  await recordParent(paths, child.pid)
  assert.equal((await findLivingParent(paths))?.pid, child.pid)
  await recordParent(paths, undefined)
  await waiting.ended
  assert.equal(await findLivingParent(paths), undefined)
})

test('who keeps a daemon running is told by what started this very process', () => {
  const self = { pid: 50, ppid: 40, platform: 'linux' as const }
  assert.equal(findRestarter({}, self), 'nobody')
  assert.equal(findRestarter({ PCC_PARENT: '40' }, self), 'parent')
  assert.equal(findRestarter({ PCC_PARENT: '40' }, { ...self, ppid: 1 }), 'nobody', 'a parent that is gone')
  assert.equal(findRestarter({ NOTIFY_SOCKET: '/run/notify' }, self), 'systemd')
  assert.equal(findRestarter({ SYSTEMD_EXEC_PID: '50' }, self), 'systemd')
  assert.equal(
    findRestarter({ SYSTEMD_EXEC_PID: '40', INVOCATION_ID: 'x' }, self),
    'nobody',
    'a terminal inside a service',
  )
  assert.equal(findRestarter({ XPC_SERVICE_NAME: 'dev.pcc' }, { pid: 50, ppid: 1, platform: 'darwin' }), 'launchd')
})
