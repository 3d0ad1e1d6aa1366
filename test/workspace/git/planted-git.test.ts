import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { appPathsFor } from '../../../src/base/app-paths.ts'
import { isolationLevel } from '../../../src/base/process/isolation.ts'
import { planSandbox } from '../../../src/workspace/command/plan-sandbox.ts'
import { findGitOperationIn, nameWorkTree, readIndexMarks } from '../../../src/workspace/git/checkout-state.ts'
import { fenceCall } from '../../../src/workspace/git/fence.ts'
import { git, gitSeries } from '../../../src/workspace/git/git.ts'
import { findGitFolder, readGitFolder } from '../../../src/workspace/git/git-folder.ts'
import { committerEnv, hardenCall } from '../../../src/workspace/git/harden.ts'
import { readRefs } from '../../../src/workspace/git/refs.ts'
import { readSharedFiles } from '../../../src/workspace/worktrees/worktree-note.ts'
import { configWith } from '../../brain/sample.ts'
import { tempDir } from '../../support/world.ts'
import { WHO, worktreeOfAgent } from './worktree-of-agent.ts'

/** What makes git's folder of the submodule `s` look otherwise than it usually does. */
const ODD_SUBMODULES: [name: string, script: string][] = [
  ['an ordinary folder', ':'],
  [
    'a common folder with the objects',
    'mkdir s/.git/c; mv s/.git/objects s/.git/refs s/.git/config s/.git/c; echo c > s/.git/commondir',
  ],
  ['a file with the line end of Windows', "mv s/.git s.git; printf 'gitdir: ../s.git\\r\\n' > s/.git"],
  [
    'a common folder with two line ends',
    "mkdir s/.git/c; mv s/.git/config s/.git/c; cp -r s/.git/objects s/.git/refs s/.git/c; printf 'c\\n\\n' > s/.git/commondir",
  ],
]

/** The size of `f` stays the same: git has to read it, and filters it for that. */
const plantSubmodule = (
  sprung: string,
) => `git init -q -b main s; cd s; echo one > f; echo 'f filter=s' > .gitattributes
git add -A; git commit -qm s; cd ..; git add s 2>/dev/null; git commit -qm link
printf '[filter "s"]\\n\\tclean = touch ${sprung}; cat\\n' >> s/.git/config; echo two > s/f`

for (const [name, script] of ODD_SUBMODULES)
  test(`a submodule that an agent makes starts nothing of its own: ${name}`, async t => {
    const { top, sprung, shell } = worktreeOfAgent(t)
    shell(`${plantSubmodule(sprung)}\n${script}`)
    rmSync(sprung, { force: true })
    writeFileSync(join(top, 'a'), 'two\n')
    for (const args of WRITERS) {
      await git(top, args, { env: WHO })
      assert.equal(existsSync(sprung), false, args.join(' '))
    }
    assert.equal((await git(top, ['show', 'HEAD:a'])).stdout, 'two\n')
    shell('git diff --quiet || git add -A')
    assert.equal(existsSync(sprung), true, 'git as usual runs it')
  })

const WRITERS = [
  ['status', '--porcelain'],
  ['diff', '--stat'],
  ['diff-index', 'HEAD'],
  ['add', '--update', '--', '.'],
  ['add', '-A', '.'],
  ['add', '--', 's'],
  ['commit', '-q', '-m', 'x'],
  ['commit', '-m', 'nothing is left'],
  ['checkout', '--detach'],
  ['cherry-pick', 'HEAD'],
  ['reset', '--hard', '--quiet'],
  ['rebase', '--onto', 'HEAD~1', 'HEAD~1'],
  ['merge', '--no-commit', '--no-ff', 'HEAD~1'],
  ['rm', '--cached', '--quiet', '--ignore-unmatch', '--', 'nothing'],
]

test('submodules inside submodules start nothing, however deep they are', async t => {
  const { top, sprung, shell } = worktreeOfAgent(t)
  const deep = `d=.; for i in 1 2 3 4 5 6 7 8; do git init -q -b main $d/s; d=$d/s; done; cd $d
echo one > f; echo 'f filter=s' > .gitattributes; git add -A; git commit -qm s
printf '[filter "s"]\\n\\tclean = touch ${sprung}\\n' >> .git/config
for i in 1 2 3 4 5 6 7 8; do cd ..; git add s 2>/dev/null; git commit -qm link; done; echo two > $d/f`
  shell(deep)
  rmSync(sprung, { force: true })
  for (const args of WRITERS) await git(top, args, { env: WHO })
  const folder = await findGitFolder(top)
  assert.ok(folder && (await nameWorkTree(folder)))
  assert.equal(existsSync(sprung), false)
})

test('a submodule that moves to another commit is still seen and added', async t => {
  const { top, shell } = worktreeOfAgent(t)
  shell(
    'git init -q -b main s; cd s; git commit -q --allow-empty -m one; cd ..; git add s 2>/dev/null; git commit -qm link',
  )
  shell('git commit -q --allow-empty -m two', join(top, 's'))
  assert.match((await git(top, ['status', '--porcelain'])).stdout, /^ M s$/m)
  assert.equal((await git(top, ['add', '-A', '.'])).ok, true)
  assert.match((await git(top, ['status', '--porcelain'])).stdout, /^M {2}s$/m)
})

test('a worktree’s own settings start nothing while git removes it', async t => {
  const { root, top, sprung, shell } = worktreeOfAgent(t)
  shell(`echo 'a filter=x' > .gitattributes; git add .; git commit -qm filtered`)
  shell(`git config extensions.worktreeConfig true; git config --worktree filter.x.clean 'touch ${sprung}; cat'`)
  writeFileSync(join(top, 'a'), 'two\n')
  await git(root, ['worktree', 'remove', top])
  assert.equal(existsSync(sprung), false)
  assert.equal(existsSync(top), true, 'a changed file keeps it')
})

const ROOT_REPOSITORIES: [name: string, script: (root: string, sprung: string) => string][] = [
  [
    'as a whole',
    (root, sprung) => `cp -r .git/objects .git/refs .git/index .
printf '[core]\\n\\tbare = false\\n\\tworktree = ${root}\\n\\tfsmonitor = touch ${sprung}\\n[filter "x"]\\n\\tclean = touch ${sprung}; cat\\n' > config`,
  ],
  [
    'with a common folder',
    (root, sprung) => `echo x > commondir; cp .git/index .; mkdir x; cp -r .git/objects .git/refs x
printf '[core]\\n\\trepositoryformatversion = 1\\n[extensions]\\n\\tworktreeConfig = true\\n[filter "x"]\\n\\tclean = touch ${sprung}; cat\\n' > x/config
printf '[core]\\n\\tworktree = ${root}\\n\\tbare = false\\n' > config.worktree`,
  ],
]

for (const [name, script] of ROOT_REPOSITORIES)
  test(`a repository that an agent makes of a checkout’s own top is not used: ${name}`, async t => {
    const { root, sprung, shell } = worktreeOfAgent(t)
    renameSync(join(root, '.git', 'HEAD'), join(root, '.git', 'H'))
    shell(
      `echo 'ref: refs/heads/main' > HEAD; ${script(root, sprung)}\necho '* filter=x' > .gitattributes; echo two > a`,
      root,
    )
    mkdirSync(join(root, 'sub'))
    for (const directory of [root, join(root, '.git'), join(root, 'sub')])
      for (const args of [
        ['status', '--porcelain'],
        ['add', '-A', '.'],
        ['rev-parse', 'HEAD'],
      ]) {
        const { ok, stderr } = await git(directory, args)
        assert.deepEqual([ok, existsSync(sprung)], [false, false], `${directory} ${args.join(' ')}`)
        assert.match(stderr, /\.git is no git repository/)
      }
    assert.equal(await findGitFolder(root), undefined)
  })

test('git itself refuses a repository that appears at the top, or above it, after pcc has looked', async t => {
  const { aside, root, sprung, shell } = worktreeOfAgent(t)
  const run = async (directory: string) => {
    const folder = await findGitFolder(directory)
    return { folder, call: await hardenCall(folder, [['add', '-A', '.']]) }
  }
  const [here, inside] = [await run(root), await run(join(root, '.git'))]
  renameSync(join(root, '.git', 'HEAD'), join(root, '.git', 'H'))
  const [, plant] = ROOT_REPOSITORIES[1] ?? []
  shell(`echo 'ref: refs/heads/main' > HEAD; ${plant?.(root, sprung)}\necho '* filter=x' > .gitattributes`, root)
  for (const [cwd, { call }] of [[root, here] as const, [join(root, '.git'), inside] as const]) {
    const { status, stderr } = spawnSync(call.command, call.args[0] ?? [], { cwd, env: call.env, encoding: 'utf8' })
    assert.deepEqual([status, existsSync(sprung)], [128, false], stderr)
    assert.match(stderr, /safe\.bareRepository|not a git repository/)
    await call[Symbol.asyncDispose]()
  }
  const bare = join(aside, 'bare.git')
  shell(`git init -q --bare '${bare}'`, aside)
  assert.equal((await git(bare, ['rev-parse', '--is-bare-repository'])).stdout, 'true\n', 'a real one works')
})

test('worktrees, submodules and separate git folders are found', async t => {
  const { aside, root, top, shell } = worktreeOfAgent(t)
  assert.equal((await findGitFolder(top))?.common, join(realpathSync(root), '.git'))
  shell(`git init -q -b main --separate-git-dir='${aside}/apart' '${aside}/checkout'`)
  assert.equal((await findGitFolder(join(aside, 'checkout')))?.own, join(aside, 'apart'))
  shell(`git init -q lib; cd lib; git commit -q --allow-empty -m lib`, aside)
  shell(`git -c protocol.file.allow=always submodule --quiet add '${aside}/lib' sub 2>/dev/null`)
  const sub = await findGitFolder(join(top, 'sub'))
  assert.match(sub?.own ?? '', /\/modules\/sub$/)
  assert.equal((await git(join(top, 'sub'), ['status'])).ok, true)
})

const ODD_FILES: [name: string, text: (aside: string, root: string) => string][] = [
  ['another repository', (_, root) => `gitdir: ${root}/.git\n`],
  ['another worktree', (_, root) => `gitdir: ${root}/.git/worktrees/tree\n`],
  ['a bare repository', aside => `gitdir: ${aside}/bare.git\n`],
  ['a folder that is none', aside => `gitdir: ${aside}\n`],
  ['a line end of Windows', aside => `gitdir: ${aside}/apart\r\n`],
  ['two line ends', aside => `gitdir: ${aside}/apart\n\n`],
  ['a zero byte', aside => `gitdir: ${aside}/apart\0more\n`],
  ['nothing', () => ''],
  ['a common folder elsewhere', aside => `gitdir: ${aside}/crafted\n`],
]

for (const [name, text] of ODD_FILES)
  test(`a file .git that names what is not its own is refused: ${name}`, async t => {
    const { aside, root, shell } = worktreeOfAgent(t)
    shell(`git init -q --bare '${aside}/bare.git'; git init -q --separate-git-dir='${aside}/apart' '${aside}/checkout'
mkdir '${aside}/crafted'; cp '${aside}/apart/HEAD' '${aside}/crafted'; echo '${root}/.git' > '${aside}/crafted/commondir'
echo '${root}/planted/.git' > '${aside}/crafted/gitdir'`)
    const directory = join(root, 'planted')
    mkdirSync(directory)
    writeFileSync(join(directory, '.git'), text(aside, root))
    assert.equal(typeof (await readGitFolder(directory)), 'string')
    const { ok, stderr } = await git(directory, ['status'])
    assert.equal(ok, false)
    assert.match(stderr, /planted\/\.git|commondir/)
  })

test('a pipe where git keeps a file holds up neither pcc nor its git', async t => {
  const { root, top, shell } = worktreeOfAgent(t)
  const own = shell('git rev-parse --git-dir').trim()
  const common = join(root, '.git')
  const { promise: late, resolve } = Promise.withResolvers<string>()
  const clock = setTimeout(() => resolve('late'), 5_000)
  const inTime = (work: Promise<unknown>) => Promise.race([work.then(() => 'in time'), late])
  shell(`cd '${own}'; mkfifo config config.worktree; mkdir -p rebase-merge; mkfifo rebase-merge/head-name`)
  for (let round = 0; round < 6; round++) assert.equal(await inTime(git(top, ['status'])), 'in time')
  assert.match((await git(top, ['add', '-A'])).stderr, /no ordinary file/)
  assert.equal(await inTime(findGitOperationIn(own)), 'in time')
  shell(`cd '${own}'; rm config config.worktree; mv commondir kept; mkfifo commondir`)
  for (let round = 0; round < 6; round++) assert.equal(await inTime(findGitFolder(top)), 'in time')
  assert.equal(await inTime(readSharedFiles(common, own)), 'in time')
  shell(`cd '${own}'; rm commondir; mv kept commondir; rm index; mkfifo index '${common}/refs/heads/pipe'`)
  assert.equal(await inTime(Promise.resolve(readRefs(common, ['refs/heads/pipe']))), 'in time')
  void readIndexMarks(top, own)
  assert.equal(await inTime(readFile(join(root, 'a'))), 'in time')
  shell(`rm -f .git; mkfifo .git`)
  assert.equal(await inTime(git(top, ['status'])), 'in time')
  clearTimeout(clock)
  assert.match(readFileSync(join(root, 'a'), 'utf8'), /one/)
})

test('a word by which git would write a file of any name, or run a program, is refused wherever it comes from', async t => {
  const { aside, top } = worktreeOfAgent(t)
  const victim = join(aside, 'victim')
  for (const word of [`--output=${victim}`, `--outpu=${victim}`, '--ext-diff', '--textconv', '--exec=touch x'])
    assert.match((await git(top, ['diff-tree', '-r', word, 'HEAD'])).stderr, /is no word for git here/, word)
  assert.ok(!existsSync(victim))
  assert.equal((await git(top, ['ls-files', '--', '--output=x'])).ok, true, 'as a path it is one')
})

/** Puts a folder before the others on the PATH of this process, as an activated virtual environment does. */
function putOnPath(t: TestContext, folder: string): void {
  const path = process.env['PATH']
  process.env['PATH'] = `${folder}:${path}`
  t.after(() => {
    process.env['PATH'] = path
  })
}

test('a git or bwrap that an agent puts into a project’s folder of the PATH is not run', async t => {
  const { root, top, sprung, shell } = worktreeOfAgent(t)
  const bin = join(root, 'tools', 'bin')
  mkdirSync(bin, { recursive: true })
  for (const name of ['git', 'bwrap', 'unshare', 'setpriv'])
    writeFileSync(join(bin, name), `#!/bin/sh\ntouch '${sprung}'\n`, { mode: 0o755 })
  putOnPath(t, bin)
  for (const directory of [root, top, join(root, '.git')]) {
    assert.equal((await git(directory, ['rev-parse', 'HEAD'])).stdout.length, 41)
    await git(directory, ['add', '-A', '.'])
    await committerEnv(directory)
  }
  const paths = appPathsFor({ env: { PCC_HOME: join(root, '..', 'home') } })
  const who = { name: 'A command', asksEveryCall: true, home: '/', paths, project: root }
  await planSandbox(configWith({}), who)
  await planSandbox(configWith({}), { ...who, worktree: top })
  await isolationLevel('auto')
  assert.equal(existsSync(sprung), false)
  shell(`PATH='${bin}':$PATH; git status`)
  assert.equal(existsSync(sprung), true, 'a shell finds it')
})

test('an empty .git folder, as a killed Codex leaves it, is no repository and breaks no sandbox', async t => {
  const project = realpathSync(tempDir(t))
  const paths = appPathsFor({ env: { PCC_HOME: join(project, '..', 'home') } })
  const who = { name: 'A command', asksEveryCall: true, home: '/', paths, project }
  mkdirSync(join(project, '.git'))
  const { settings } = await planSandbox(configWith({}), who)
  assert.equal(settings?.git, undefined)
  assert.equal(await readGitFolder(project), undefined)
  writeFileSync(join(project, '.git/HEAD'), 'no repository\n')
  await assert.rejects(planSandbox(configWith({}), who), { code: 'sandbox_git' })
})

test('a series of commands is refused for what one of them must not do, and keeps its fence', async t => {
  const { aside, root, top, shell } = worktreeOfAgent(t)
  shell(`echo more > more && git add more`)
  const head = shell('git rev-parse HEAD').trim()
  const word = await gitSeries(top, () => [['write-tree'], ['diff', '--output=x', 'HEAD']])
  assert.match(word.ok ? '' : word.stderr, /--output=x is no word for git here/)
  assert.equal(existsSync(join(top, 'x')), false)
  const log = join(root, '.git/logs/refs/heads/planted')
  mkdirSync(join(log, '..'), { recursive: true })
  symlinkSync(join(aside, 'log'), log)
  const linked = await gitSeries(top, () => [['write-tree'], ['update-ref', 'refs/heads/planted', head]])
  assert.match(linked.ok ? '' : linked.stderr, /git would write through it/)
  rmSync(log)
  const folder = await findGitFolder(top)
  const inner = { directory: top, command: '/bin/sh', args: [], program: '/usr/bin/git', env: {} }
  const mixed = await fenceCall(folder, {
    ...inner,
    asked: [
      ['rev-parse', 'HEAD'],
      ['add', '.'],
    ],
  })
  assert.deepEqual([mixed.command.endsWith('bwrap'), mixed.args.includes('--tmpfs')], [true, true])
  const reading = await fenceCall(folder, { ...inner, asked: [['rev-parse', 'HEAD'], ['status']] })
  assert.equal(reading.command, '/bin/sh')
})
