import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  appendFileSync,
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import {
  type BeforeAgent,
  readBefore,
  removeLeftPlanted,
  removePlanted,
  saveBefore,
} from '../../../src/base/sandbox/planted.ts'
import { testAsOrdinaryUser } from '../../security/ordinary-user.ts'
import { bareEnv, gitProject, tempDir } from '../../support/world.ts'

/** A project, and the git of a person and of an agent in it. `end` is what happens when the agent has ended. */
function plant(t: TestContext, where: 'main' | 'worktree') {
  const project = gitProject(t)
  const git = (cwd: string, ...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b.invalid', ...args], {
      cwd,
      env: bareEnv(project),
      encoding: 'utf8',
      stdio: 'pipe',
    })
  const common = join(project, '.git')
  const tree = join(tempDir(t), 'one')
  if (where === 'worktree') git(project, 'worktree', 'add', '-q', tree)
  const checkout =
    where === 'main' ? { top: project, own: common, common } : { top: tree, own: join(common, 'worktrees/one'), common }
  const { top } = checkout
  const victim = join(tempDir(t), 'victim')
  const program = `[core]\n\tfsmonitor = "echo ran >> ${victim}; false"\n`
  const settings = { mode: 'required' as const, network: ['*'], read: [], write: [], hidden: [], git: checkout }
  const lines: string[] = []
  let before: BeforeAgent | undefined
  return {
    ...{ project, checkout, top, victim, lines },
    git: (...args: string[]) => git(top, ...args),
    begin() {
      before = readBefore(checkout)
    },
    /** An inner repository whose settings name a program. */
    addInner(name: string) {
      git(top, 'init', '-q', name)
      git(join(top, name), 'commit', '-q', '--allow-empty', '-m', 'inner')
      git(top, 'add', name)
      appendFileSync(join(top, name, '.git/config'), program)
    },
    end(branches?: string) {
      removePlanted({ ...settings, branches }, { before, log: line => lines.push(line) })
    },
    hasRun: () => existsSync(victim),
  }
}

for (const where of ['main', 'worktree'] as const)
  test(`an inner repository that an agent adds runs nothing when the person asks git for the status: ${where}`, t => {
    const { begin, addInner, end, git, hasRun, lines } = plant(t, where)
    begin()
    addInner('sub')
    end()
    git('status')
    assert.equal(hasRun(), false)
    assert.match(lines.join(), /sub is set aside/)
  })

test('an inner repository runs nothing whose mode in the index is another one that git takes for that of a submodule', t => {
  const { begin, addInner, end, git, hasRun, checkout, victim } = plant(t, 'main')
  begin()
  addInner('sub')
  const file = join(checkout.own, 'index')
  const body = readFileSync(file).subarray(0, -20)
  body.writeUInt32BE(0x1e001, body.indexOf(Buffer.from([0, 0, 0xe0, 0])))
  writeFileSync(file, Buffer.concat([body, createHash('sha1').update(body).digest()]))
  rmSync(victim, { force: true })
  end()
  git('status')
  assert.equal(hasRun(), false)
})

for (const [key, value] of Object.entries({ 'include.path': '~/mine', 'index.version': '4' }))
  test(`an inner repository runs nothing where the settings of the repository say ${key}, also if HEAD is broken meanwhile`, t => {
    for (const isBroken of [false, true]) {
      const { begin, addInner, end, git, hasRun, checkout, lines } = plant(t, 'main')
      git('config', key, value)
      git('update-index', '--force-write-index')
      begin()
      addInner('sub')
      if (isBroken) renameSync(join(checkout.own, 'HEAD'), join(checkout.own, 'OLD'))
      end()
      if (isBroken) renameSync(join(checkout.own, 'OLD'), join(checkout.own, 'HEAD'))
      git('status')
      assert.equal(hasRun(), false, `${isBroken}`)
      assert.match(lines.join(), /sub is set aside/)
    }
  })

test('an inner repository runs nothing whose .git is a file that git reads otherwise than it seems', t => {
  for (const end of ['\r\n', '\n\n']) {
    const planted = plant(t, 'main')
    const at = join(planted.top, 'sub')
    planted.begin()
    planted.addInner('sub')
    mkdirSync(join(planted.checkout.common, 'modules'), { recursive: true })
    renameSync(join(at, '.git'), join(at, 'x'))
    symlinkSync('../.git/modules', join(at, `x${end.slice(0, -1)}`))
    writeFileSync(join(at, '.git'), `gitdir: x${end}`)
    rmSync(planted.victim, { force: true })
    planted.end()
    planted.git('status')
    assert.equal(planted.hasRun(), false, JSON.stringify(end))
  }
})

test('what an agent has left is removed by the next daemon where its own was killed', t => {
  const { begin, addInner, git, hasRun, top, checkout, victim, lines } = plant(t, 'main')
  // The data directory of a person may have any name.
  const scratch = join(tempDir(t), 'jürgen')
  mkdirSync(join(scratch, 'box'), { recursive: true })
  begin()
  saveBefore(join(scratch, 'box'), { git: checkout }, readBefore(checkout))
  addInner('sub')
  symlinkSync(victim, join(checkout.own, 'COMMIT_EDITMSG.link'))
  rmSync(victim, { force: true })
  removeLeftPlanted(scratch, line => lines.push(line))
  git('status')
  assert.equal(hasRun(), false)
  assert.equal(existsSync(join(top, 'sub/.git')), false)
  assert.equal(lstatSync(join(checkout.own, 'COMMIT_EDITMSG.link'), { throwIfNoEntry: false }), undefined)
})

test('an inner repository that only a commit knows runs nothing where the branch has become the name of another one', t => {
  for (const isEarlier of [false, true]) {
    const { begin, addInner, end, git, hasRun, victim } = plant(t, 'main')
    const rename = () => {
      git('branch', 'x')
      git('symbolic-ref', 'refs/heads/main', 'refs/heads/x')
    }
    if (isEarlier) rename()
    begin()
    addInner('sub')
    git('commit', '-qm', 'with it')
    git('rm', '-q', '--cached', 'sub')
    if (!isEarlier) rename()
    rmSync(victim, { force: true })
    end()
    git('reset', '-q')
    git('status')
    assert.equal(hasRun(), false, `${isEarlier}`)
  }
})

test('an inner repository is set aside under a name that an agent cannot take before', t => {
  const { begin, addInner, end, git, hasRun, top, victim } = plant(t, 'main')
  begin()
  addInner('sub')
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() })
  writeFileSync(join(top, 'sub', `.git-set-aside-${Date.now()}`), '')
  rmSync(victim, { force: true })
  end()
  git('status')
  assert.equal(hasRun(), false)
})

test('links among the files of git are found in folders that can be entered and not listed', t => {
  const { begin, end, checkout, victim } = plant(t, 'main')
  begin()
  const links = ['logs/HEAD', 'COMMIT_EDITMSG'].map(name => join(checkout.own, name))
  for (const link of links) {
    rmSync(link, { force: true })
    symlinkSync(victim, link)
  }
  for (const folder of [join(checkout.own, 'logs'), checkout.own]) chmodSync(folder, 0o300)
  end()
  chmodSync(checkout.own, 0o700)
  for (const link of links) assert.equal(lstatSync(link, { throwIfNoEntry: false }), undefined, link)
})

test('an inner repository is found whose name is no text', t => {
  const { begin, addInner, end, git, hasRun, top, victim } = plant(t, 'main')
  begin()
  addInner('sub')
  git('rm', '-q', '-f', '--cached', 'sub')
  renameSync(join(top, 'sub'), Buffer.concat([Buffer.from(`${top}/sub`), Buffer.from([0xff])]))
  execFileSync('sh', ['-c', 'git add sub*'], { cwd: top, env: bareEnv(top), stdio: 'pipe' })
  rmSync(victim, { force: true })
  end()
  git('status')
  assert.equal(hasRun(), false)
})

test('an inner repository that only a commit knows runs nothing after git reset', t => {
  const { begin, addInner, end, git, hasRun } = plant(t, 'main')
  begin()
  addInner('sub')
  git('commit', '-qm', 'with it')
  git('rm', '-q', '--cached', 'sub')
  git('commit', '-qm', 'without it')
  end()
  git('reset', '-q', 'HEAD~1')
  git('status')
  assert.equal(hasRun(), false)
})

test('a submodule that is taken out of the index and filled by an agent runs nothing after git reset', t => {
  const { begin, addInner, end, git, hasRun, top } = plant(t, 'main')
  addInner('sub')
  git('commit', '-qm', 'a submodule that is not there')
  rmSync(join(top, 'sub'), { recursive: true })
  mkdirSync(join(top, 'sub'))
  begin()
  git('rm', '-q', '--cached', 'sub')
  addInner('sub')
  git('rm', '-q', '-f', '--cached', 'sub')
  end()
  git('reset', '-q')
  git('status')
  assert.equal(hasRun(), false)
})

test('a closed folder keeps no inner repository from being set aside, and no session from starting', t => {
  const { begin, addInner, end, git, hasRun, top, checkout } = plant(t, 'main')
  begin()
  for (const name of ['asub', 'zsub']) addInner(name)
  chmodSync(join(top, 'asub'), 0o000)
  assert.doesNotThrow(() => readBefore(checkout))
  end()
  chmodSync(join(top, 'asub'), 0o700)
  git('status')
  assert.equal(hasRun(), false)
})

test('a repository that was an inner one before the agent began stays', t => {
  const { begin, addInner, end, top } = plant(t, 'main')
  addInner('sub')
  begin()
  end()
  assert.ok(existsSync(join(top, 'sub/.git')))
})

for (const where of ['main', 'worktree'] as const)
  test(`links of an agent among git's own files and among objects are removed, and those of the person stay: ${where}`, t => {
    const { begin, end, checkout, victim } = plant(t, where)
    const [outside, persons] = [victim, join(checkout.common, 'objects/fe')]
    rmSync(persons, { recursive: true, force: true })
    symlinkSync(tempDir(t), persons)
    begin()
    mkdirSync(join(checkout.own, 'logs'), { recursive: true })
    const planted = [
      ...['COMMIT_EDITMSG', 'logs/HEAD'].map(name => join(checkout.own, name)),
      join(checkout.common, 'objects/fd'),
      join(checkout.common, 'objects/info/more'),
    ]
    mkdirSync(join(checkout.common, 'objects/info'), { recursive: true })
    for (const path of planted.slice(0, 3)) {
      rmSync(path, { force: true })
      symlinkSync(outside, path)
    }
    end()
    assert.deepEqual(
      planted.filter(path => lstatSync(path, { throwIfNoEntry: false })),
      [],
    )
    assert.ok(lstatSync(persons).isSymbolicLink())
  })

test('a ref that would stand before a branch is removed, and other refs stay', t => {
  const { begin, end, git, checkout, project } = plant(t, 'worktree')
  const refs = join(checkout.common, 'refs')
  const head = git('rev-parse', 'HEAD')
  execFileSync('git', ['update-ref', 'refs/remotes/origin/main', head.trim()], { cwd: project, env: bareEnv(project) })
  begin()
  git('commit', '-q', '--allow-empty', '-m', 'evil')
  const evil = git('rev-parse', 'HEAD')
  mkdirSync(join(refs, 'origin'))
  mkdirSync(join(refs, 'pull'))
  const shadows = [
    ...['main', 'HEAD', 'origin/main'].map(name => join(refs, name)),
    ...[checkout.common, checkout.own].map(folder => join(folder, 'main')),
  ]
  for (const path of [...shadows, join(refs, 'pull/1')]) writeFileSync(path, evil)
  end('pcc')
  assert.deepEqual(
    shadows.filter(path => existsSync(path)),
    [],
  )
  assert.equal(readFileSync(join(refs, 'pull/1'), 'utf8'), evil)
  assert.equal(readFileSync(join(refs, 'heads/main'), 'utf8'), head)
})

/** Packed refs as an agent leaves them: what was there, and more. */
const addPacked = (common: string, ...lines: string[]) =>
  appendFileSync(join(common, 'packed-refs'), `${lines.join('\n')}\n`)

test('refs by which an object passes for another one are taken out of the packed ones, and those of the person stay', t => {
  const { begin, end, git, checkout, lines } = plant(t, 'main')
  const ids = ['one', 'two', 'three', 'four'].map(text => {
    writeFileSync(join(checkout.top, 'x'), text)
    return git('hash-object', '-w', 'x').trim()
  })
  const [one, two, three, four] = ids
  git('tag', '-am', 'v1', 'v1')
  git('replace', String(one), String(two))
  git('pack-refs', '--all')
  git('replace', String(two), String(three))
  begin()
  const before = readFileSync(join(checkout.common, 'packed-refs'), 'utf8')
  const tag = git('rev-parse', 'v1').trim()
  addPacked(
    checkout.common,
    `${two} refs/replace/${three}`,
    `${tag}\trefs/replace/${four}`,
    `^${two}`,
    `${three} refs/tags/v2`,
  )
  writeFileSync(join(checkout.common, 'packed-refs.lock'), '')
  end()
  assert.equal(readFileSync(join(checkout.common, 'packed-refs'), 'utf8'), `${before}${three} refs/tags/v2\n`)
  assert.deepEqual(git('replace', '-l').trim().split('\n').sort(), [one, two].sort())
  assert.match(lines.join(), /pass for others do so no more/)
  rmSync(join(checkout.common, 'packed-refs.lock'))
  begin()
  git('pack-refs', '--all')
  end()
  assert.deepEqual(
    git('replace', '-l').trim().split('\n').sort(),
    [one, two].sort(),
    'who only packs them changes nothing',
  )
  assert.equal(lines.length, 1)
})

test('commits lose no parents by what an agent leaves, and a commit that was fetched without its history keeps its mark', t => {
  const { begin, end, git, checkout, lines } = plant(t, 'main')
  git('commit', '-q', '--allow-empty', '-m', 'two')
  const [head, first] = [git('rev-parse', 'HEAD').trim(), git('rev-parse', 'HEAD~1').trim()]
  const raw = git('cat-file', '-p', 'HEAD').replace(/parent \w+/, `parent ${'1'.repeat(40)}`)
  writeFileSync(join(checkout.top, 'x'), raw)
  const cut = git('hash-object', '-t', 'commit', '-w', 'x').trim()
  begin()
  writeFileSync(join(checkout.common, 'shallow'), `${head}\n${cut}\n`)
  mkdirSync(join(checkout.common, 'info'), { recursive: true })
  writeFileSync(join(checkout.common, 'info/grafts'), `${head}\n`)
  end()
  assert.equal(readFileSync(join(checkout.common, 'shallow'), 'utf8'), `${cut}\n`)
  assert.match(git('log', '--format=%H'), new RegExp(first))
  assert.equal(existsSync(join(checkout.common, 'info/grafts')), false)
  assert.equal(lines.length, 2)
  begin()
  writeFileSync(join(checkout.common, 'shallow'), `${head}\n`)
  end()
  assert.equal(existsSync(join(checkout.common, 'shallow')), false)
})

test('the same holds for an ordinary user', async t => {
  const again = await testAsOrdinaryUser(t, 'test/base/sandbox/planted.test.ts')
  if (!again) return t.diagnostic('this is an ordinary user')
  assert.equal(again.code, 0, again.output)
})
