import assert from 'node:assert/strict'
import {
  appendFileSync,
  existsSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Worktree } from '../../../src/domain/worktree.ts'
import { keepSlot } from '../../../src/workspace/worktrees/slots.ts'
import type { WorktreeSettings } from '../../../src/workspace/worktrees/worktree.ts'
import { gitProject, tempDir } from '../../support/world.ts'
import { folderInMemory, insertRun, openWorktreeFixture, write, writeThroughMapping } from './worktree-fixture.ts'

// Dependencies stay in a slot for the next task, if nobody has changed them since they were set up.

async function openWarmWorld(t: TestContext, settings: Partial<WorktreeSettings> = {}, root?: string) {
  const project = gitProject(t, {
    '.gitignore': 'node_modules/\nmade/\n',
    'package.json': '{}\n',
    'a.txt': 'a\n',
    'twin/index.js': 'evil\n',
  })
  const fixture = await openWorktreeFixture(t, { project, settings, ...(root !== undefined && { root }) })
  const { store } = fixture.deps
  await insertRun(store, project)
  let count = 0
  return {
    ...fixture,
    /** Ends the last task, and gives its slot to the next one. */
    async next(last?: Worktree): Promise<Worktree> {
      if (last) assert.ok(await store.transaction(tx => keepSlot(last, { store }, tx)))
      count += 1
      return fixture.make({ task: `t-${String(count).padStart(6, '0')}`, slot: true })
    },
    setupOf: async (worktree: Worktree) => (await store.worktrees.get(worktree))?.setup ?? '',
  }
}

test('a copy of dependencies stays while nobody changes it, and is made anew after any change', async t => {
  const world = await openWarmWorld(t)
  const mine = { 'node_modules/m/index.js': 'm\n', 'node_modules/.package-lock.json': '{}\n' }
  write(world.project, { ...mine, 'node_modules/.cache/x': 'project\n', 'node_modules/.bin/run': 'run\n' })
  let current = await world.next()
  const { top } = current
  const file = join(top, 'node_modules/m/index.js')
  const copied = statSync(file)
  const isStill = () => statSync(file).ino === copied.ino
  current = await world.next(current)
  assert.ok(isStill(), 'nothing was changed')
  assert.match(await world.setupOf(current), /^node_modules stays from the last task, unchanged$/)
  write(top, { 'node_modules/.cache/y': 'planted\n', 'node_modules/m/__pycache__/m.pyc': 'planted\n' })
  current = await world.next(current)
  assert.ok(isStill(), 'caches do not count')
  const planted = ['.cache/y', 'm/__pycache__/m.pyc'].map(path => existsSync(join(top, 'node_modules', path)))
  assert.deepEqual(planted, [false, false])
  assert.equal(readFileSync(join(top, 'node_modules/.cache/x'), 'utf8'), 'project\n')
  const changes: Record<string, () => void> = {
    'a changed file': () => appendFileSync(file, 'evil\n'),
    'a changed file whose time was set back': () => {
      writeFileSync(file, 'M\n')
      utimesSync(file, copied.atime, copied.mtime)
    },
    'a folder in the place of a package': () => {
      renameSync(join(top, 'node_modules/m'), join(top, 'old'))
      renameSync(join(top, 'twin'), join(top, 'node_modules/m'))
      renameSync(join(top, 'old'), join(top, 'twin'))
    },
    'a new file': () => write(top, { 'node_modules/new/index.js': 'evil\n' }),
    'a new link': () => symlinkSync('/etc/passwd', join(top, 'node_modules/.bin/evil')),
    'a changed record of the installer': () => appendFileSync(join(top, 'node_modules/.package-lock.json'), 'evil\n'),
    'new packages in the project': () => write(world.project, { 'node_modules/.package-lock.json': '{ }\n' }),
  }
  for (const [name, change] of Object.entries(changes)) {
    const before = madeAt(join(top, 'node_modules'))
    change()
    current = await world.next(current)
    assert.notEqual(madeAt(join(top, 'node_modules')), before, name)
    assert.equal(readFileSync(file, 'utf8'), 'm\n', name)
    const left = ['new', '.bin/evil'].map(path => existsSync(join(top, 'node_modules', path)))
    assert.deepEqual(left, [false, false], name)
  }
})

test('a folder in the place of a cache is not there for the next task, although no file in it has changed', async t => {
  const world = await openWarmWorld(t)
  write(world.project, {
    'node_modules/m/index.js': 'm\n',
    'node_modules/m/__pycache__/m.pyc': 'compiled\n',
    'node_modules/.cache/tool/x': 'project\n',
  })
  const current = await world.next()
  const modules = join(current.top, 'node_modules')
  for (const cache of ['.cache/tool', 'm/__pycache__']) {
    renameSync(join(modules, cache), join(current.top, 'aside'))
    renameSync(join(current.top, 'twin'), join(modules, cache))
    renameSync(join(current.top, 'aside'), join(current.top, 'twin'))
    rmSync(join(current.top, 'twin'), { recursive: true })
    world.gitIn(current.top, 'checkout', '-q', '.')
  }
  await world.next(current)
  assert.equal(readFileSync(join(modules, 'm/index.js'), 'utf8'), 'm\n')
  for (const planted of ['.cache/tool/index.js', 'm/__pycache__/index.js'])
    assert.equal(existsSync(join(modules, planted)), false, planted)
})

/** Tells a folder from one that was made in its place: a file system may use the number of a removed one again. */
function madeAt(path: string): string {
  const { ino, birthtimeNs } = statSync(path, { bigint: true })
  return `${ino} ${birthtimeNs}`
}

test('the set-up command runs again only if a manifest changed, or something that it made', async t => {
  const runs = join(tempDir(t), 'runs')
  writeFileSync(runs, '')
  const setup = `echo x >> '${runs}'; mkdir -p node_modules/m made && echo m > node_modules/m/x && echo m > made/y`
  const world = await openWarmWorld(t, { setup })
  const count = () => readFileSync(runs, 'utf8').length / 2
  let current = await world.next()
  const { top } = current
  const merge = (files: Record<string, string>) => {
    write(top, files)
    world.gitIn(top, 'add', '-A')
    world.gitIn(top, 'commit', '-qm', 'work')
    world.git('merge', '-q', '--ff-only', current.branch)
  }
  const steps: [string, () => void, number][] = [
    ['an ordinary change', () => merge({ 'a.txt': 'b\n' }), 1],
    ['an ignored file of its own', () => write(top, { 'node_modules.txt': '', 'made-too/x': '' }), 1],
    ['a changed package', () => appendFileSync(join(top, 'node_modules/m/x'), 'evil\n'), 2],
    ['a changed file beside the packages', () => appendFileSync(join(top, 'made/y'), 'evil\n'), 3],
    ['a changed manifest', () => merge({ 'package.json': '{ "name": "x" }\n' }), 4],
    ['a changed lock file', () => merge({ 'core/Cargo.lock': 'version = 4\n' }), 5],
    ['nothing', () => undefined, 5],
  ]
  for (const [name, change, expected] of steps) {
    change()
    current = await world.next(current)
    assert.equal(count(), expected, name)
    assert.deepEqual(
      ['node_modules/m/x', 'made/y'].map(path => readFileSync(join(top, path), 'utf8')),
      ['m\n', 'm\n'],
      name,
    )
  }
  assert.match(await world.setupOf(current), /not run, because nothing that it installs has changed/)
  const other = { ...world.deps.settings, setup: `${setup}; true` }
  Object.assign(world.deps, { settings: other })
  await world.next(current)
  assert.equal(count(), 6, 'another command')
})

const ON_LINUX = { skip: process.platform !== 'linux' && 'only Linux has /dev/shm' }

test(
  'in memory, where a file can change without a new change time, what differs does not stay for the next task',
  ON_LINUX,
  async t => {
    const world = await openWarmWorld(t, {}, join(folderInMemory(t), 'worktrees'))
    write(world.project, { 'node_modules/m/index.js': 'good\n', 'node_modules/.package-lock.json': '{}\n' })
    let current = await world.next()
    const file = join(current.top, 'node_modules/m/index.js')
    const { ino, ctimeMs } = statSync(file)
    current = await world.next(current)
    assert.equal(statSync(file).ino, ino, 'nothing was changed')
    writeThroughMapping(file, 'evil\n')
    assert.deepEqual([readFileSync(file, 'utf8'), statSync(file).ctimeMs], ['evil\n', ctimeMs])
    // Git reads files again that are as young as the index.
    const later = Date.now() / 1000 + 10
    utimesSync(join(dirname(current.top), `.${basename(current.top)}.pcc-index`), later, later)
    writeThroughMapping(join(current.top, 'a.txt'), 'e\n')
    await world.next(current)
    assert.equal(readFileSync(file, 'utf8'), 'good\n')
    assert.equal(readFileSync(join(current.top, 'a.txt'), 'utf8'), 'a\n')
  },
)
