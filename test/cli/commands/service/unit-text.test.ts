import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { appPathsFor } from '../../../../src/base/app-paths.ts'
import { nextForService } from '../../../../src/cli/commands/service/install.ts'
import { findService, locateUnit } from '../../../../src/cli/commands/service/service-unit.ts'
import { alertUnit, daemonUnit, launchdPlist, whoseUnit } from '../../../../src/cli/commands/service/unit-text.ts'
import { bareEnv, tempDir } from '../../../support/world.ts'
import { pccFor } from '../../pcc.ts'

const ODD = '/opt/a "b" 100% $HOME \\ é/pcc'
const SAMPLE = {
  command: ['/bin/sh', ODD],
  env: { PATH: '/usr/bin:/bin', PCC_HOME: '/home/me/50% "x" $y/.perpetualcc' },
  alert: 'perpetualcc-alert.service',
  version: 252,
  setuidSandbox: false,
}
const hasAnalyze = existsSync('/usr/bin/systemd-analyze')

test('the units pass systemd-analyze verify without a remark, for a user and for the system', t => {
  if (!hasAnalyze) return t.diagnostic('systemd-analyze is not installed')
  for (const user of [undefined, 'root']) {
    const folder = tempDir(t)
    const files = ['perpetualcc.service', 'perpetualcc-alert.service'].map(name => join(folder, name))
    writeFileSync(files[0] ?? '', daemonUnit({ ...SAMPLE, user }))
    writeFileSync(files[1] ?? '', alertUnit({ ...SAMPLE, user }))
    const env = { ...bareEnv(folder), XDG_RUNTIME_DIR: folder, SYSTEMD_UNIT_PATH: `${folder}:` }
    const flags = user === undefined ? ['--user'] : []
    const { status, stderr } = spawnSync('systemd-analyze', [...flags, 'verify', '--man=no', ...files], {
      env,
      encoding: 'utf8',
    })
    assert.equal(status, 0, stderr)
    assert.deepEqual(
      stderr.split('\n').filter(line => line.includes('perpetualcc')),
      [],
    )
  }
})

test('systemd-analyze security finds the unit of the system at most MEDIUM, although agents must be able to work', t => {
  if (!hasAnalyze) return t.diagnostic('systemd-analyze is not installed')
  const file = join(tempDir(t), 'perpetualcc.service')
  writeFileSync(file, daemonUnit({ ...SAMPLE, user: 'me' }))
  const said = spawnSync('systemd-analyze', ['security', '--offline=true', '--no-pager', file], {
    encoding: 'utf8',
  }).stdout
  const level = Number(/Overall exposure level for \S+: ([\d.]+)/.exec(said)?.[1])
  t.diagnostic(`exposure ${level}`)
  assert.ok(level > 0 && level < 7, said.slice(-300))
})

test('paths with spaces, quotes, percent and dollar signs are what systemd makes of the unit', () => {
  const text = daemonUnit(SAMPLE)
  assert.match(text, /^ExecStart="\/bin\/sh" "\/opt\/a \\"b\\" 100%% \$\$HOME \\\\ é\/pcc" "daemon" "run"$/m)
  assert.match(text, /^Environment="PCC_HOME=\/home\/me\/50%% \\"x\\" \$y\/\.perpetualcc"$/m)
})

test('the unit restarts always and later each time, is watched, and gives up where a person has to mend something', () => {
  const [old, fresh] = [daemonUnit(SAMPLE), daemonUnit({ ...SAMPLE, version: 254 })]
  for (const line of [
    'Type=notify',
    'Restart=always',
    'WatchdogSec=60',
    'StartLimitIntervalSec=600\nStartLimitBurst=10',
    'RestartSec=5',
    'RestartPreventExitStatus=2 5',
    'KillMode=process',
    'OnFailure=perpetualcc-alert.service',
  ])
    assert.ok(old.includes(`\n${line}\n`), line)
  assert.match(fresh, /\nRestartSec=2\nRestartSteps=6\nRestartMaxDelaySec=60\n/)
  assert.doesNotMatch(old, /RestartSteps/)
  assert.doesNotMatch(daemonUnit({ ...SAMPLE, setuidSandbox: true }), /NoNewPrivileges/)
})

test('an update restarts the service when nothing is at work, or when one says so', () => {
  const running = { isService: true, isChanged: false, isSilent: false, version: '1.0.0', live: 0 }
  const next = (more: Partial<typeof running>, now = false) =>
    nextForService({ ...running, ...more }, { own: '1.1.0', now })
  assert.equal(next({ version: '1.1.0' }), 'leave')
  assert.equal(next({ version: '1.1.0' }, true), 'leave', 'it is up to date')
  assert.equal(next({}), 'start', 'another version, and nothing at work')
  assert.equal(next({ version: '1.1.0', isChanged: true }), 'start')
  assert.equal(next({ live: 2 }), 'busy')
  assert.equal(next({ live: 2 }, true), 'start')
  assert.equal(next({ isSilent: true }), 'unknown')
  assert.equal(next({ isSilent: true, isService: false }), 'start', 'there is none yet')
})

test('a unit is ours until a letter of it is changed', () => {
  const plist = launchdPlist({ label: 'x', command: ['/a'], env: {}, output: '/b' })
  for (const text of [daemonUnit(SAMPLE), alertUnit(SAMPLE), plist]) {
    assert.equal(whoseUnit(text), 'ours')
    assert.equal(whoseUnit(text.replace(/(Type=|<key>Label)/, '$1 ')), 'edited')
    assert.equal(whoseUnit(`${text}\n`), 'edited')
    assert.equal(whoseUnit(text.replace(/Written by[^\n]*/, '-->')), 'foreign')
  }
})

test('the launchd agent is a valid property list that is kept alive', t => {
  const text = launchdPlist({
    label: 'perpetualcc',
    command: ['/bin/node', '/a & <b>/pcc.js'],
    env: { PCC_HOME: '/x & y' },
    output: '/l',
  })
  const script = 'import plistlib,sys,json; print(json.dumps(plistlib.loads(sys.stdin.buffer.read())))'
  if (!existsSync('/usr/bin/python3')) return t.diagnostic('nothing reads property lists here')
  const read = JSON.parse(execFileSync('/usr/bin/python3', ['-c', script], { input: text, encoding: 'utf8' }))
  assert.deepEqual(read.ProgramArguments, ['/bin/node', '/a & <b>/pcc.js', 'daemon', 'run'])
  assert.deepEqual([read.KeepAlive, read.RunAtLoad, read.EnvironmentVariables.PCC_HOME], [true, true, '/x & y'])
})

test('each installation has a service of its own', t => {
  const HOME = tempDir(t)
  const standard = appPathsFor({ env: { HOME } })
  const other = appPathsFor({ env: { HOME, PCC_HOME: join(HOME, 'elsewhere') } })
  const place = locateUnit(standard, { env: { HOME }, scope: 'user', platform: 'linux' })
  assert.equal(place.file, join(HOME, '.config/systemd/user/perpetualcc.service'))
  assert.notEqual(locateUnit(other, { env: { HOME }, scope: 'user', platform: 'linux' }).unit, place.unit)
  assert.match(
    locateUnit(standard, { env: { HOME }, scope: 'system', platform: 'linux' }).file,
    /^\/etc\/systemd\/system\/perpetualcc-/,
  )
  // What sudo has installed is what the person asks for later.
  const sudo = { env: { HOME, SUDO_USER: userInfo().username }, scope: 'system' as const, platform: 'linux' }
  assert.equal(locateUnit(standard, sudo).unit, `perpetualcc-${userInfo().username}.service`)
  const ann = { ...sudo, env: { HOME, SUDO_USER: 'ann' } }
  assert.equal(locateUnit(standard, ann).file, '/etc/systemd/system/perpetualcc-ann.service')
  const mac = locateUnit(standard, { env: { HOME }, scope: 'user', platform: 'darwin' })
  assert.equal(mac.file, join(HOME, 'Library/LaunchAgents/perpetualcc.plist'))
  assert.equal(findService(standard, { env: { HOME }, platform: 'linux' }), undefined)
})

test('without systemd, and inside a session, pcc service says what to do and writes nothing', async t => {
  const { run, home } = pccFor(t)
  const bin = join(home, 'bin')
  mkdirSync(bin)
  const none = await run(['service', 'status'])
  assert.deepEqual([none.code, /No service is installed[\s\S]*pcc service install/.test(none.stderr)], [2, true])
  const agent = await run(['service', 'install'], { env: { PCC_SESSION_MARK: 'x' } })
  assert.notEqual(agent.code, 0)
  assert.match(agent.stderr, /session/)
  const both = await run(['service', 'install', '--user', '--system'])
  assert.equal(both.code, 2)
  const missing = await run(['service', 'install'], { env: { PATH: bin } })
  assert.match(missing.stderr, /systemctl is not installed[\s\S]*@reboot pcc daemon start/)
  if (existsSync('/run/systemd/system')) return t.diagnostic('systemd runs here')
  writeFileSync(join(bin, 'systemctl'), '#!/bin/sh\nexit 1\n')
  chmodSync(join(bin, 'systemctl'), 0o755)
  const unbooted = await run(['service', 'install'])
  assert.deepEqual([unbooted.code, /not started with systemd/.test(unbooted.stderr)], [3, true])
  assert.ok(!existsSync(join(home, '.config/systemd')))
})
