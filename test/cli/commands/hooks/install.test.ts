import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { appPathsFor, hookRecord } from '../../../../src/base/app-paths.ts'
import {
  applyChange,
  isChange,
  planInstall,
  planUninstall,
} from '../../../../src/cli/commands/hooks/change-settings.ts'
import { parseValue } from '../../../../src/cli/commands/hooks/edit-json.ts'
import { wantedChange } from '../../../../src/cli/commands/hooks/install.ts'
import { hookAdditions, hookFile, ownHook } from '../../../../src/cli/commands/hooks/vendor-files.ts'
import { HOOK_VENDORS, type HookVendor } from '../../../../src/domain/hooks.ts'
import { grantTrust, trustStatus } from '../../../../src/policy/trust/trust.ts'
import { BIN } from '../../../support/program.ts'
import { tempDir } from '../../../support/world.ts'
import { type Pcc, pccFor } from '../../pcc.ts'

const SETTINGS = '{\r\n    // mine\r\n    "model": "opus",\r\n    "hooks": { "Stop": [] }\r\n}'

function write(path: string, content: string): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, content)
}

const filesOf = ({ home }: Pcc): Record<HookVendor, string> => ({
  claude: join(home, '.claude/settings.json'),
  codex: join(home, '.codex/hooks.json'),
  gemini: join(home, '.gemini/settings.json'),
  copilot: join(home, '.copilot/hooks/pcc.json'),
})

test('hooks are installed for every agent that is found, shown first, once, and taken out byte for byte', async t => {
  const pcc = pccFor(t)
  const files = filesOf(pcc)
  write(files.claude, SETTINGS)
  chmodSync(files.claude, 0o640)
  mkdirSync(join(pcc.home, '.codex'))
  mkdirSync(join(pcc.home, '.copilot'))

  const asked = await pcc.run(['hooks', 'install'])
  assert.equal(asked.code, 3)
  assert.match(asked.stdout, /\.claude\/settings\.json:\n[\s\S]*\+ .*"PreToolUse": \[/)
  assert.match(asked.stdout, /Codex: .*trust/)
  assert.equal(readFileSync(files.claude, 'utf8'), SETTINGS)

  const done = await pcc.run(['hooks', 'install', '--yes', '--json'])
  assert.equal(done.code, 0, done.stderr)
  const { files: results } = JSON.parse(done.stdout) as { files: { vendor: string; state: string }[] }
  assert.deepEqual(
    results.map(({ vendor, state }) => `${vendor} ${state}`),
    ['claude done', 'codex done', 'copilot done'],
  )
  assert.equal(existsSync(files.gemini), false)
  const installed = readFileSync(files.claude, 'utf8')
  assert.match(installed, /"onFailure": ?"block"/)
  assert.equal(statSync(files.claude).mode & 0o777, 0o640)
  const launcher = join(pcc.env['PCC_HOME'] ?? '', 'hooks/run')
  assert.equal(lstatSync(launcher).mode & 0o777, 0o700)
  assert.match(readFileSync(files.codex, 'utf8'), /hooks\/run codex PreToolUse \|\| exit 2"/)
  assert.match(readFileSync(files.copilot, 'utf8'), /"version": 1/)

  const again = await pcc.run(['hooks', 'install'])
  assert.equal(again.code, 0, again.stderr)
  assert.match(again.stdout, /Claude Code: was installed already/)
  assert.equal(readFileSync(files.claude, 'utf8'), installed)

  const status = JSON.parse((await pcc.run(['hooks', 'status', '--json'])).stdout) as {
    agents: { agent: string; files: { scope: string; state: string }[] }[]
  }
  assert.deepEqual(
    status.agents.map(({ agent, files: [user] }) => `${agent} ${user?.state}`),
    ['claude installed', 'codex installed', 'copilot installed'],
  )

  assert.equal((await pcc.run(['hooks', 'uninstall', '--yes'])).code, 0)
  assert.equal(readFileSync(files.claude, 'utf8'), SETTINGS)
  assert.deepEqual(readdirSync(join(pcc.home, '.codex')), [])
  assert.deepEqual(readdirSync(join(pcc.home, '.copilot')), [])
  assert.equal((await pcc.run(['hooks', 'uninstall'])).code, 0)
})

test('an agent cannot install hooks or take them out, and nothing is changed without a person', async t => {
  const pcc = pccFor(t)
  for (const action of ['install', 'uninstall']) {
    const { code, stderr } = await pcc.run(['hooks', action, '--claude', '--yes'], { env: { PCC_SESSION_MARK: 'x' } })
    assert.notEqual(code, 0)
    assert.match(stderr, /agent/i)
  }
  assert.equal((await pcc.run(['hooks', 'install', '--claude'])).code, 3)
  assert.equal(existsSync(join(pcc.home, '.claude')), false)
})

/** An installer without a process of its own. */
function installer(t: Parameters<typeof tempDir>[0]) {
  const home = tempDir(t)
  const env = { HOME: home, CLAUDE_CONFIG_DIR: '', PCC_HOME: join(home, 'pcc') }
  const paths = appPathsFor({ env })
  const context = { paths, isOurs: ownHook(paths, undefined) }
  const project = join(home, 'project')
  mkdirSync(project)
  const file = hookFile('claude', { scope: 'user', env, project })
  const inProject = hookFile('claude', { scope: 'project', env, project })
  return {
    ...{ home, paths, project, context, file, inProject },
    plan: (target = file) => planInstall(target, hookAdditions('claude', paths), context),
    install: (target = file) => applyChange(paths, planInstall(target, hookAdditions('claude', paths), context), {}),
    uninstall: (target = file) => applyChange(paths, planUninstall(target, context), {}),
  }
}

test('what a person wrote around the hooks stays, and exactly the hooks go', t => {
  const { paths, file, install, uninstall } = installer(t)
  write(file.path, SETTINGS)
  install()
  const backups = join(paths.home, 'hooks/backups')
  const copies = readdirSync(backups).map(name => readFileSync(join(backups, name), 'utf8'))
  assert.deepEqual(copies, [SETTINGS], 'the file as it was is kept')
  const edited = readFileSync(file.path, 'utf8').replace('"opus"', '"sonnet"').replace('// mine', '// still mine')
  writeFileSync(file.path, edited)
  install() // an update keeps the edit too
  uninstall()
  assert.equal(
    readFileSync(file.path, 'utf8'),
    SETTINGS.replace('"opus"', '"sonnet"').replace('// mine', '// still mine'),
  )
})

test('hooks that are all there stay where somebody has put them, and one that is missing or narrowed to a tool is written again', t => {
  const { file, install, uninstall, plan } = installer(t)
  write(file.path, '{"model": "opus"}')
  install()
  const change = (edit: (hooks: Record<string, Record<string, unknown>[]>) => void) => {
    const settings = JSON.parse(readFileSync(file.path, 'utf8')) as { hooks: Record<string, Record<string, unknown>[]> }
    edit(settings.hooks)
    writeFileSync(file.path, JSON.stringify(settings, null, 4))
    return isChange(plan())
  }
  const own = { hooks: [{ type: 'command', command: 'mine' }] }
  assert.equal(
    change(hooks => hooks['Stop']?.push(own)),
    false,
  )
  assert.equal(
    change(hooks => delete hooks['Stop']?.[0]?.['hooks']),
    true,
    'one is missing',
  )
  install()
  assert.equal(
    change(hooks => Object.assign(hooks['PreToolUse']?.[0] ?? {}, { matcher: 'Bash' })),
    true,
    'other tools would not be judged',
  )
  install()
  uninstall()
  const left = JSON.parse(readFileSync(file.path, 'utf8')) as { model: string; hooks: object }
  assert.deepEqual(left, { model: 'opus', hooks: { Stop: [{}, own] } })
})

test('a file that was made for the hooks stays if the person put something into it', t => {
  const { file, install, uninstall } = installer(t)
  install()
  writeFileSync(file.path, readFileSync(file.path, 'utf8').replace('{\n', '{\n  "model": "opus",\n'))
  uninstall()
  assert.deepEqual(JSON.parse(readFileSync(file.path, 'utf8')), { model: 'opus' })
})

test('a link stays a link, and its target is changed', t => {
  const { home, file, install, uninstall } = installer(t)
  const target = join(home, 'dotfiles/claude.json')
  write(target, '{}\n')
  mkdirSync(dirname(file.path))
  symlinkSync(target, file.path)
  install()
  assert.ok(lstatSync(file.path).isSymbolicLink())
  assert.match(readFileSync(target, 'utf8'), /PreToolUse/)
  uninstall()
  assert.equal(readFileSync(target, 'utf8'), '{}\n')
})

test('settings that must not be changed are left alone, with the reason', t => {
  const { home, file, inProject, plan } = installer(t)
  const refuses = (target: typeof file, problem: RegExp) => assert.throws(() => plan(target), problem)
  const other = (name: string) => ({ ...file, path: join(home, name) })
  write(file.path, '{ "a": 1')
  refuses(file, /settings\.json cannot be changed: it is not valid JSON: line 1/)
  writeFileSync(file.path, `{ "a": "${'x'.repeat(4_000_000)}" }`)
  refuses(file, /larger than 4000000 bytes/)
  writeFileSync(file.path, Buffer.from([0x7b, 0xff, 0x7d]))
  refuses(file, /not UTF-8/)
  writeFileSync(file.path, '{}')
  chmodSync(file.path, 0o400)
  refuses(file, /read-only/)
  symlinkSync(join(home, 'nowhere'), join(home, 'dangling'))
  refuses(other('dangling'), /link that leads nowhere/)
  refuses(other('dangling/settings.json'), /link that leads nowhere/)
  mkdirSync(join(home, 'folder'))
  refuses(other('folder'), /no ordinary file/)
  write(join(home, 'outside.json'), '{}')
  mkdirSync(dirname(inProject.path))
  symlinkSync(join(home, 'outside.json'), inProject.path)
  refuses(inProject, /leads out of the project/)
  if (process.getuid?.() !== 0) return // only root can give a file away
  write(join(home, 'theirs'), '{}')
  chownSync(join(home, 'theirs'), 12_345, 12_345)
  refuses(other('theirs'), /belongs to another user/)
})

test('a file that somebody changed after it was shown is left alone', t => {
  const { paths, file, plan } = installer(t)
  write(file.path, '{}')
  const shown = plan()
  writeFileSync(file.path, '{ "model": "opus" }')
  assert.throws(() => applyChange(paths, shown, {}), /changed just now/)
  assert.equal(readFileSync(file.path, 'utf8'), '{ "model": "opus" }')
})

test('hooks are found and taken out by their path if the record is lost', t => {
  const { paths, file, install, uninstall } = installer(t)
  write(file.path, '{\n  "model": "opus"\n}\n')
  install()
  rmSync(hookRecord(paths))
  uninstall()
  assert.equal(readFileSync(file.path, 'utf8'), '{\n  "model": "opus"\n}\n')
})

test('two installers at once add each hook once', async t => {
  const pcc = pccFor(t)
  const { claude } = filesOf(pcc)
  write(claude, SETTINGS)
  await Promise.all([1, 2].map(() => pcc.run(['hooks', 'install', '--claude', '--yes'])))
  const { hooks } = parseValue(readFileSync(claude, 'utf8')) as { hooks: Record<string, unknown[]> }
  assert.deepEqual(
    Object.entries(hooks).filter(([, groups]) => groups.length !== 1),
    [],
  )
  assert.equal((await pcc.run(['hooks', 'uninstall', '--yes'])).code, 0)
  assert.equal(readFileSync(claude, 'utf8'), SETTINGS)
})

test('a disk that is full half-way leaves the settings as they were', async t => {
  const pcc = pccFor(t)
  const { claude } = filesOf(pcc)
  const before = `{ "a": "${'x'.repeat(20_300)}" }`
  write(claude, before)
  // Files above 20 kB cannot be written: the copy still fits, the new settings do not.
  const script = 'ulimit -f 40; exec "$@"'
  const args = ['-c', script, 'sh', process.execPath, BIN, 'hooks', 'install', '--claude', '--yes']
  const { status, stderr } = spawnSync('/bin/sh', args, { env: pcc.env, cwd: pcc.home, encoding: 'utf8' })
  assert.equal(status, 2, stderr)
  assert.match(stderr, /settings\.json cannot be changed: EFBIG/)
  assert.equal(readFileSync(claude, 'utf8'), before)
  assert.deepEqual(readdirSync(dirname(claude)), ['settings.json'])
})

test('--http writes a port and a key of its own, and is for the person’s own settings of Claude Code only', async t => {
  const pcc = pccFor(t)
  const { code, stdout } = await pcc.run(['hooks', 'install', '--claude', '--http', '--yes'])
  assert.equal(code, 0)
  assert.match(stdout, /While the daemon is away, Claude Code blocks every call/)
  const { hooks } = JSON.parse(readFileSync(filesOf(pcc).claude, 'utf8')) as {
    hooks: Record<string, { hooks: { type: string; url?: string; onFailure?: string }[] }[]>
  }
  const [before] = hooks['PreToolUse']?.[0]?.hooks ?? []
  assert.match(before?.url ?? '', /^http:\/\/127\.0\.0\.1:\d+\/hooks\/claude\/PreToolUse$/)
  assert.equal(before?.onFailure, 'block')
  assert.equal(hooks['SessionStart']?.[0]?.hooks[0]?.type, 'command')
  const file = join(pcc.env['PCC_HOME'] ?? '', 'hooks/listener.json')
  assert.equal(statSync(file).mode & 0o777, 0o600)
  // Installing again keeps what was chosen; taking out knows these hooks too.
  assert.match((await pcc.run(['hooks', 'install', '--claude'])).stdout, /was installed already/)
  assert.equal((await pcc.run(['hooks', 'uninstall', '--yes'])).code, 0)
  assert.equal(existsSync(filesOf(pcc).claude), false)
  assert.equal((await pcc.run(['hooks', 'install', '--codex', '--http', '--yes'])).code, 2)
  assert.equal((await pcc.run(['hooks', 'install', '--claude', '--project', '--http', '--yes'])).code, 2)
})

test('a project lays its own file for a tool over the hooks in its settings, only after trust, and never over those of the person', async t => {
  const { paths, context, file, inProject: theirs, project } = installer(t)
  write(join(paths.home, 'tools/claude/hooks.toml'), 'skip = ["SessionEnd"]\n')
  write(join(project, '.perpetualcc/tools/claude/hooks.toml'), 'skip = ["Notification", "PreToolUse"]\n')
  const missing = async (each: typeof file) => {
    const { after } = (await wantedChange(each, { paths, listener: undefined }))()
    return ['SessionEnd', 'Notification', 'PreToolUse'].filter(native => !after?.toString().includes(`"${native}": [`))
  }
  assert.deepEqual([await missing(file), await missing(theirs)], [['SessionEnd'], ['SessionEnd']])
  await grantTrust(paths, await trustStatus(paths, project))
  assert.deepEqual([await missing(file), await missing(theirs)], [['SessionEnd'], ['Notification']])
  for (const vendor of HOOK_VENDORS)
    for (const scope of ['user', 'project'] as const) {
      const each = hookFile(vendor, { scope, env: { HOME: dirname(project) }, project })
      const change = planInstall(each, hookAdditions(vendor, paths), context)
      applyChange(paths, change, {})
      assert.match(readFileSync(each.path, 'utf8'), new RegExp(`${vendor}`), `${vendor} ${scope}`)
      applyChange(paths, planUninstall(each, context), {})
      assert.equal(existsSync(each.path), false, `${vendor} ${scope}`)
    }
})
