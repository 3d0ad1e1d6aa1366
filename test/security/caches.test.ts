import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { type TestContext, test } from 'node:test'
import { appPathsFor } from '../../src/base/app-paths.ts'
import { openGuard } from '../../src/base/process/guardian.ts'
import { lookForBubblewrap } from '../../src/base/sandbox/bubblewrap.ts'
import { openCaches, withLayers } from '../../src/base/sandbox/caches.ts'
import { openSandbox } from '../../src/base/sandbox/sandbox.ts'
import { NO_NEEDS } from '../../src/base/sandbox/settings.ts'
import { commandSandboxes, planSandbox } from '../../src/workspace/command/plan-sandbox.ts'
import { commandEnvironment, runCommand } from '../../src/workspace/command/run-command.ts'
import { configWith } from '../brain/sample.ts'
import { bareEnv, gitProject, tempDir } from '../support/world.ts'
import { testAsOrdinaryUser } from './ordinary-user.ts'

const config = configWith({ 'agents.sandbox': 'required' })

/** A project, and ways to run a line in it: as its set-up command, as an agent, and as gates of one verification. */
function openProject(t: TestContext) {
  const home = tempDir(t)
  const project = gitProject(t)
  const paths = appPathsFor({ env: { PCC_HOME: join(home, 'pcc') } })
  const env = commandEnvironment(bareEnv(home))
  const log = () => undefined
  const run = async (command: string, sandbox: Parameters<typeof runCommand>[1]['sandbox']) => {
    const { signal } = new AbortController()
    const limits = { timeoutMs: 60_000, signal }
    const { output } = await runCommand(
      { command, directory: project, env, ...limits },
      { guard: openGuard(), sandbox },
    )
    return output.trim()
  }
  const agent = async (line: string) => {
    const subject = { name: 'An agent', asksEveryCall: true, project, home, paths }
    const { settings } = await planSandbox(config, subject)
    assert.ok(settings?.made)
    const { made: bubblewrap } = settings
    return run(line, async () => openSandbox({ bubblewrap, settings, needs: NO_NEEDS, env, reading: false, log }))
  }
  const setUp = (line: string) => run(line, commandSandboxes(config, { project, paths, log, fillsCaches: true }))
  const verification = async (...lines: (string | { setUp: string })[]) => {
    await using sandbox = commandSandboxes(config, { project, paths, log })
    const said: string[] = []
    for (const line of lines) said.push(await (typeof line === 'string' ? run(line, sandbox) : setUp(line.setUp)))
    return said
  }
  return { home, paths, agent, verification, setUp }
}

test('what an agent or its tests put into a package cache is there for no gate and no other agent', async t => {
  const { agent, verification, setUp, paths } = openProject(t)
  await setUp('mkdir -p ~/.cache/tool && echo good > ~/.cache/tool/runner')
  const plant =
    'echo evil > ~/.cache/tool/runner; mkdir -p ~/.npm/_cacache; echo evil | tee ~/.npm/_cacache/x; rm -rf ~/.cache/t2'
  assert.equal(await agent(`${plant}; cat ~/.cache/tool/runner`), 'evil\nevil')
  const look = 'cat ~/.cache/tool/runner ~/.npm/_cacache/x 2>/dev/null'
  assert.deepEqual(await verification(look, plant, look), ['good', 'evil', 'evil\nevil'])
  assert.deepEqual(await verification(look), ['good'])
  assert.equal(await agent(look), 'good')
  assert.equal(await setUp(look), 'good')
  assert.deepEqual(readdirSync(join(paths.run, 'boxes')), [])
})

test('a gate finds the packages of the person, and neither their other caches nor a way to change them', async t => {
  const { home, verification, agent } = openProject(t)
  const files = ['.npm/_cacache/a', '.cargo/registry/b', '.cache/pip/c', '.cache/browser/secret', '.npm/_logs/secret']
  for (const file of files) {
    mkdirSync(dirname(join(home, file)), { recursive: true })
    writeFileSync(join(home, file), 'as it was')
  }
  const look = 'cd; find .npm .cargo .cache -type f | sort'
  const [seen] = await verification(`${look}; for f in ${files.join(' ')}; do echo evil > ~/$f; rm -f ~/$f; done`)
  assert.equal(seen?.split('\n/bin/sh:')[0], '.cache/pip/c\n.cargo/registry/b\n.npm/_cacache/a')
  assert.equal(await agent(look), '.cache/pip/c\n.cargo/registry/b\n.npm/_cacache/a')
  for (const file of files) assert.equal(readFileSync(join(home, file), 'utf8'), 'as it was')
})

test('a link that a set-up command leaves in a package cache leads no gate and no agent out of it', async t => {
  const { home, verification, agent, setUp } = openProject(t)
  for (const folder of ['.npm/_cacache/tmp', '.ssh']) mkdirSync(join(home, folder), { recursive: true })
  writeFileSync(join(home, '.ssh/id_rsa'), 'the key')
  const plant = `rm -rf ~/.npm/_cacache ~/.npm/tool; for f in _cacache tool; do ln -sT ${home}/.ssh ~/.npm/$f; done; echo planted`
  const look = 'cat ~/.npm/_cacache/id_rsa ~/.npm/tool/id_rsa 2>/dev/null; echo ran'
  await setUp('mkdir -p ~/.npm/_logs; touch ~/.npm/_logs/a')
  const [, planted, seen] = await verification(look, { setUp: plant }, look)
  assert.match(planted ?? '', /planted$/)
  assert.deepEqual([seen, await agent(look), await setUp(look)], ['ran', 'ran', 'ran'])
})

test('every package manager has a cache that it writes, and Go, Maven and Gradle read the person’s behind theirs', async t => {
  const { home, verification } = openProject(t)
  const behind = ['go/pkg/mod/cache/download/a', '.m2/repository/a', '.gradle/caches/a']
  for (const file of behind) {
    mkdirSync(dirname(join(home, file)), { recursive: true })
    writeFileSync(join(home, file), `${file}\n`)
  }
  const caches = [
    ...['.npm', '.pnpm-store', '.local/share/pnpm/store', '.yarn/berry', '.cache/yarn', '.cache/pip', '.cache/uv'],
    ...['.cargo/registry', '.cargo/git', 'go/pkg', '.m2/repository', '.gradle/caches'],
  ]
  const write = `for f in ${caches.join(' ')}; do mkdir -p ~/$f && touch ~/$f/of-pcc || echo no $f; done`
  const named = 'g=${GOPROXY%%,*}; m=${MAVEN_ARGS##*=}; r=$GRADLE_RO_DEP_CACHE; g=${g#file://}'
  const [seen] = await verification(`${write}; ${named}; cat $g/a $m/a $r/a; touch $g/b $m/b $r/b 2>/dev/null`)
  assert.equal(seen, behind.join('\n'))
  for (const cache of caches) assert.equal(existsSync(join(home, cache, 'of-pcc')), false, cache)
})

test('where layers cannot be mounted a copy of what was set up takes their place', t => {
  const [home, folder, scratch] = [tempDir(t), tempDir(t), tempDir(t)]
  mkdirSync(join(folder, 'npm'))
  writeFileSync(join(folder, 'npm/good'), 'good')
  mkdirSync(join(home, '.npm/_cacache'), { recursive: true })
  const { folders, layers } = openCaches(home, { folder }, { scratch, canMount: false })
  const inside = folders.find(({ to }) => to === join(home, '.npm'))?.from ?? ''
  const line = 'cat good; echo evil > good; echo evil > more'
  const { command, args } = withLayers({ command: '/bin/sh', args: ['-c', line] }, layers, { scratch, canMount: false })
  assert.equal(
    execFileSync('/bin/sh', ['-c', 'cd "$0" && exec "$@"', inside, command, ...args], { encoding: 'utf8' }),
    'good',
  )
  assert.equal(readFileSync(join(inside, 'good'), 'utf8'), 'evil\n')
  assert.equal(readFileSync(join(folder, 'npm/good'), 'utf8'), 'good')
  assert.equal(existsSync(join(folder, 'npm/more')), false)
})

test('an empty cache is a folder of its surroundings, and a mount only where it has to outlive the command or nothing can be made', t => {
  const [home, folder, scratch] = [tempDir(t), tempDir(t), tempDir(t)]
  const shown = [join(home, '.local/share/pnpm')]
  const mounted = (options: { changes?: string; shown?: string[] }) =>
    openCaches(home, { folder, ...options }, { scratch, canMount: true, shown: options.shown ?? [] })
      .folders.map(({ to }) => relative(home, to))
      .toSorted()
  assert.deepEqual(mounted({}), [])
  assert.deepEqual(mounted({ shown }), ['.local/share/pnpm/store'])
  mkdirSync(join(folder, 'npm/pkg'), { recursive: true })
  mkdirSync(join(home, '.cache/pip'), { recursive: true })
  assert.deepEqual(mounted({}), ['.cache/pip', '.npm'])
  const kept = mounted({ changes: tempDir(t) })
  assert.ok(['.cache', '.cache/pip', '.npm', 'go/pkg'].every(name => kept.includes(name)))
  assert.ok(!kept.includes('.cache/uv') && !kept.includes('.npm/_cacache'))
})

test('a disk without room for package caches is named, with what may be deleted', async t => {
  const [project, home, full] = [gitProject(t), tempDir(t), tempDir(t)]
  const module = (path: string) => JSON.stringify(join(import.meta.dirname, '../../src/base/sandbox', path))
  const program = JSON.stringify(await lookForBubblewrap())
  const script = `
    import { openSandbox } from ${module('sandbox.ts')}
    import { NO_NEEDS } from ${module('settings.ts')}
    const caches = { folder: ${JSON.stringify(join(full, 'caches'))} }
    const settings = { mode: 'required', network: ['*'], read: [], write: [], hidden: [], caches }
    const opening = { bubblewrap: ${program}, settings, needs: NO_NEEDS, env: process.env, reading: false, log() {} }
    await using sandbox = openSandbox(opening)
    const inside = { command: '/bin/true', args: [], cwd: ${JSON.stringify(project)}, env: process.env, shows: [], writes: [] }
    try { sandbox.wrap(inside, { pidNamespace: true }) } catch (error) { console.log(error.code, error.message, error.next) }`
  // A file system of a few files, which only this command sees.
  const line = 'mount -t tmpfs -o nr_inodes=4 none "$0" && exec "$@"'
  const inside = [process.execPath, '--input-type=module-typescript', '-e', script]
  const args = ['--map-root-user', '--mount', '/bin/sh', '-c', line, full, ...inside]
  const said = execFileSync('unshare', args, { env: bareEnv(home), encoding: 'utf8' })
  assert.match(said, /^sandbox_folder .*caches\/\S+ cannot be used \(ENOSPC\)\. .*Free some space\. The package caches/)
})

test('the same holds for an ordinary user', async t => {
  const again = await testAsOrdinaryUser(t, 'test/security/caches.test.ts')
  if (!again) return t.diagnostic('this is an ordinary user')
  assert.equal(again.code, 0, again.output)
})
