import assert from 'node:assert/strict'
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { daemonUnit } from '../../../../src/cli/commands/service/unit-text.ts'
import { openSimulator } from '../../../../src/simulator/open.ts'
import { openPty } from '../../../e2e/pty.ts'
import { receiver } from '../../../human/notify/notify-harness.ts'
import { BIN } from '../../../support/program.ts'
import { agentEnv, gitProject } from '../../../support/world.ts'
import { shortenWaits, systemdWorld } from './systemd-world.ts'

const SAMPLE = { command: ['/usr/bin/pcc'], env: {}, alert: 'x.service', version: 252, setuidSandbox: false }
const SCENARIO = `
conversations:
  - match: greet
    turns:
      - tools: [{ Bash: { command: "echo hello", description: greet } }]
      - text: Done.
  - match: sleeper
    turns:
      - tools: [{ Bash: { command: "sleep 120", description: wait } }]
      - text: Done.
`
/** Without what drops the rights of root, who runs this test: an ordinary user has none. */
const HARDENING = /^(NoNew|Lock|Restrict[RA]|Keyring|Protect|RemoveIPC)/

test('the service of the system: installed, restarted when killed or hung, given up and told of in a crash loop, removed', {
  timeout: 120_000,
}, async t => {
  const world = await systemdWorld(t, 'system')
  if (!world) return t.diagnostic('no service manager can be started here')
  const { pcc, show, inside } = world
  const folder = '/etc/systemd/system/perpetualcc-root.service.d'
  const waits = '[Unit]\nStartLimitBurst=4\n[Service]\nWatchdogSec=4\nTimeoutAbortSec=1\nRestartSec=1\n'
  await inside('sh', ['-c', `mkdir ${folder} && printf '${waits}' > ${folder}/fast.conf`])
  const installed = await pcc('service', 'install', '--system')
  assert.equal(installed.code, 0, installed.stderr)
  assert.match(
    installed.stdout,
    /^perpetualcc-root\.service is installed \(\/etc\/systemd\/system\/.*\) and active\.\n$/,
  )
  assert.doesNotMatch(installed.stderr, /remarks/)
  assert.deepEqual([await show('User'), await show('UnitFileState')], ['root', 'enabled'])
  const health = async () => JSON.parse((await pcc('daemon', 'status', '--json')).stdout)
  const first = await show('MainPID')
  assert.deepEqual([(await health()).kept_by, String((await health()).pid)], ['systemd', first])
  for (const signal of ['-KILL', '-STOP']) {
    const before = await show('MainPID')
    await inside('kill', [signal, before])
    while ([before, '0'].includes(await show('MainPID')) || (await show('ActiveState')) !== 'active') await sleep(100)
  }
  assert.equal(await show('NRestarts'), '2')
  const [, after = ''] = daemonUnit({ ...SAMPLE, user: 'nobody' }).split('OOMPolicy=continue\n')
  const kept = after.split('\n\n', 1).join('').split('\n')
  assert.ok(kept.length >= 10, kept.join('\n'))
  const sandbox = 'bwrap --unshare-user --unshare-pid --unshare-net --ro-bind / / --proc /proc --dev /dev true'
  const probe = `[Service]\nType=oneshot\nUser=nobody\nExecStart=/usr/bin/env ${sandbox}\n${kept.join('\n')}\n`
  await inside('sh', ['-c', 'printf %s "$PROBE" > /etc/systemd/system/probe.service'], { PROBE: probe })
  await inside('systemctl', ['daemon-reload'])
  const probed = await inside('systemctl', ['start', 'probe.service'])
  assert.equal(probed.code, 0, `${probed.stderr}\n${probe}`)
  assert.equal((await pcc('service', 'status', '--system')).code, 0)
  const alert = ['show', 'perpetualcc-root-alert.service', '-p', 'ExecMainExitTimestampMonotonic', '--value']
  assert.equal((await inside('systemctl', alert)).stdout.trim(), '0')
  for (let state = ''; state !== 'failed'; state = await show('ActiveState')) {
    const pid = await show('MainPID')
    if (pid !== '0') await inside('kill', ['-KILL', pid])
    await sleep(100)
  }
  assert.equal(await show('Result'), 'signal')
  while ((await inside('systemctl', alert)).stdout.trim() === '0') await sleep(100)
  assert.equal((await pcc('service', 'status', '--system')).code, 1)
  const busless = await pcc('service', 'install', '--user')
  assert.deepEqual([busless.code, /your user has no bus of systemd .*enable-linger/s.test(busless.stderr)], [3, true])
  const removed = await pcc('service', 'uninstall')
  assert.equal(removed.code, 0, removed.stderr)
  assert.equal((await inside('ls', ['/etc/systemd/system'])).stdout.includes('perpetualcc-root.service\n'), false)
})

test('the service of a user: installed, restarted when killed or hung, steered, told of, removed', {
  timeout: 240_000,
}, async t => {
  const ntfy = await receiver(t)
  const world = await systemdWorld(t)
  if (!world) return t.diagnostic('no service manager can be started here')
  const { home, pcc, show, inside } = world
  const unit = join(home, '.config/systemd/user/perpetualcc.service')
  mkdirSync(join(home, '.perpetualcc'))
  const settings = join(home, '.perpetualcc/config.toml')
  writeFileSync(
    settings,
    `[notifications]\nntfy.server = "${ntfy.url}"\nntfy.topic = "topic-of-the-test"\ndesktop = false\n`,
  )
  shortenWaits(home, ['WatchdogSec=4', 'TimeoutAbortSec=1', 'RestartSec=1'])
  const health = async () => JSON.parse((await pcc('daemon', 'status', '--json')).stdout)
  const anotherPid = async (before: string) => {
    for (let pid = before; ; pid = await show('MainPID')) {
      if (pid !== before && pid !== '0' && (await show('ActiveState')) === 'active') return pid
      await sleep(100) // systemd has no event that a script can wait for
    }
  }

  await t.test('a daemon that runs already is taken over', async () => {
    assert.equal((await pcc('daemon', 'start')).code, 0)
    assert.equal((await health()).kept_by, 'parent')
    const installed = await pcc('service', 'install')
    assert.equal(installed.code, 0, installed.stderr)
    assert.match(installed.stdout, /^perpetualcc\.service is installed \(.*\) and active\.\n$/)
    assert.doesNotMatch(installed.stderr, /remarks/)
    const { kept_by, pid } = await health()
    assert.deepEqual([kept_by, String(pid)], ['systemd', await show('MainPID')])
    assert.equal(await show('UnitFileState'), 'enabled')
    assert.equal(await show('WatchdogUSec'), '4s', 'a drop-in counts')
  })

  await t.test('a killed daemon and a hung one are started again', async () => {
    const first = await show('MainPID')
    await inside('kill', ['-KILL', first])
    const second = await anotherPid(first)
    await inside('kill', ['-STOP', second])
    const third = await anotherPid(second)
    assert.equal(String((await health()).pid), third)
    assert.equal(await show('NRestarts'), '2')
  })

  await t.test('pcc daemon restart and stop go through systemd, and a command starts it there again', async () => {
    const before = await show('MainPID')
    assert.equal((await pcc('daemon', 'restart')).code, 0)
    assert.notEqual(await show('MainPID'), before)
    assert.match((await pcc('daemon', 'stop')).stdout, /The daemon is stopped/)
    assert.equal(await show('ActiveState'), 'inactive')
    assert.equal((await pcc('service', 'status')).code, 1)
    assert.equal((await pcc('list')).code, 0)
    assert.equal((await health()).kept_by, 'systemd')
    const status = await pcc('service', 'status')
    assert.equal(status.code, 0)
    assert.match(status.stdout, /State: +active, running.*\n +At start: +it starts by itself/)
    const logs = await pcc('service', 'logs')
    assert.deepEqual([logs.code, /pcc daemon logs/.test(logs.stderr)], [0, true], 'there is no journal here')
  })

  await t.test('an agent works in its sandbox, and an update does not disturb it unless one says so', async () => {
    shortenWaits(home, ['RestartSec=1']) // the daemon may be busy for longer than the short watchdog allows
    await inside('systemctl', ['--user', 'daemon-reload'])
    await pcc('daemon', 'restart')
    const simulator = await openSimulator({ text: SCENARIO })
    t.after(() => simulator.close())
    const project = gitProject(t)
    const start = async (task: string, ...more: string[]) =>
      inside(
        process.execPath,
        [BIN, 'start', project, '--task', task, '--session-name', task, ...more],
        agentEnv(home, simulator.url),
      )
    const done = await start('greet')
    assert.equal(done.code, 0, done.stdout + done.stderr)
    const events = (await pcc('logs', 'greet', '--json')).stdout
    assert.match(events, /"sandboxed":true/)
    const long = await start('sleeper', '--detach')
    assert.equal(long.code, 0, long.stderr)
    assert.equal((await health()).sessions.live, 1)
    const before = await show('MainPID')
    writeFileSync(unit, readFileSync(unit, 'utf8').replace('# To change', '# to change'))
    const held = await pcc('service', 'install', '--yes')
    assert.match(held.stderr, /1 session at work; .*pcc service install --now/)
    assert.equal(await show('MainPID'), before)
    writeFileSync(unit, readFileSync(unit, 'utf8').replace('# To change', '# to change'))
    assert.equal((await pcc('service', 'install', '--yes', '--now')).code, 0)
    assert.notEqual(await show('MainPID'), before)
    assert.equal((await pcc('stop', 'sleeper')).code, 0)
  })

  await t.test('a unit that was edited by hand is not overwritten without asking', async () => {
    appendFileSync(unit, '# mine\n')
    const refused = await pcc('service', 'install')
    assert.deepEqual([refused.code, /edited by hand/.test(refused.stderr)], [3, true])
    assert.match(readFileSync(unit, 'utf8'), /# mine/)
    assert.match((await pcc('service', 'status')).stdout, /edited by hand/)
    const tools = join(home, 'tools')
    mkdirSync(tools)
    writeFileSync(join(tools, 'loginctl'), '#!/bin/sh\necho no\n', { mode: 0o755 })
    const before = await show('MainPID')
    const PATH = `${tools}:${world.env['PATH']}`
    const replaced = await inside(process.execPath, [BIN, 'service', 'install', '--yes'], { PATH })
    assert.equal(replaced.code, 0, replaced.stderr)
    assert.match(replaced.stderr, /while you are logged in.*loginctl enable-linger/)
    assert.notEqual(await show('MainPID'), before, 'nothing was at work, so it is restarted')
    assert.doesNotMatch(readFileSync(unit, 'utf8'), /# mine/)
    assert.match(readFileSync(`${unit}.bak`, 'utf8'), /# mine/)
  })

  await t.test('when it is given up, a person is told on their channels', async () => {
    shortenWaits(home, ['RestartSec=100ms', 'Environment=PCC_SESSIONS_MAX_CONCURRENT=many'])
    await inside('systemctl', ['--user', 'daemon-reload'])
    await inside('kill', ['-KILL', await show('MainPID')])
    for (let n = 1; !/PerpetualCC is down/.test((await ntfy.nth(n)).body.title); ) n += 1
    assert.equal(await show('ActiveState'), 'failed')
    const status = await pcc('service', 'status')
    assert.deepEqual([status.code, /State: +failed/.test(status.stdout)], [1, true])
  })

  await t.test('its hardening leaves agents their sandbox', async () => {
    for (const user of [undefined, 'me']) {
      const text = daemonUnit({ ...SAMPLE, user })
      const kept = text.split('\n').filter(line => HARDENING.test(line))
      assert.ok(kept.length >= 5)
      const sandbox =
        'bwrap --unshare-user --unshare-pid --unshare-net --ro-bind / / --proc /proc --dev /dev --tmpfs /tmp true'
      const probe = `[Service]\nType=oneshot\nExecStart=/usr/bin/env ${sandbox}\n${kept.join('\n')}\n`
      writeFileSync(join(home, '.config/systemd/user/probe.service'), probe)
      await inside('systemctl', ['--user', 'daemon-reload'])
      const { code, stderr } = await inside('systemctl', ['--user', 'start', 'probe.service'])
      assert.equal(code, 0, `${stderr}\n${probe}`)
    }
  })

  await t.test('it is removed completely', async () => {
    shortenWaits(home, [])
    const removed = await pcc('service', 'uninstall')
    assert.equal(removed.code, 0, removed.stderr)
    assert.deepEqual([unit, unit.replace('.service', '-alert.service')].map(existsSync), [false, false])
    assert.equal((await pcc('service', 'status')).code, 2)
  })

  await t.test('pcc init offers it at a terminal, and nothing is installed without a yes', async () => {
    const init = world.words(process.execPath, [BIN, 'init', gitProject(t), '--skip-index'])
    const terminal = openPty(t, init, { cwd: home, env: { ...world.env, NO_COLOR: '1' } })
    for (let asked = ''; !asked.includes('[y/N]'); terminal.type(asked.includes('[1]') ? '\r' : 'n\r'))
      asked = (
        await terminal.see(
          /\[1\] |(Commit|Let pcc also judge) [^?]*\?[^?]*\[Y\/n\]|Start the daemon with the machine[^[]*\[y\/N\]/,
        )
      )[0]
    await terminal.see(/To start the daemon with the machine: pcc service install/)
    assert.equal(await terminal.exit, 0)
    assert.ok(!existsSync(unit))
  })
})
