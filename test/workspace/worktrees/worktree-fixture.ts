import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { TestContext } from 'node:test'
import { silentLog } from '../../../src/base/log.ts'
import { defaultValues, nestValues } from '../../../src/domain/config/settings.ts'
import type { Worktree } from '../../../src/domain/worktree.ts'
import { openStore } from '../../../src/store/open.ts'
import type { Store } from '../../../src/store/store.ts'
import type { RunRow } from '../../../src/store/tables.ts'
import { makeWorktree, type NewWorktreeRequest } from '../../../src/workspace/worktrees/make-worktree.ts'
import { type RemoveOptions, removeWorktree } from '../../../src/workspace/worktrees/remove-worktree.ts'
import type { WorktreeDeps, WorktreeSettings } from '../../../src/workspace/worktrees/worktree.ts'
import { bareEnv, gitProject, tempDir } from '../../support/world.ts'

export interface WorktreeFixture {
  project: string
  deps: WorktreeDeps
  /** Moves the clock. */
  pass(ms: number): void
  git(...args: string[]): string
  gitIn(directory: string, ...args: string[]): string
  make(wanted?: Partial<NewWorktreeRequest>): Promise<Worktree>
  remove(worktree: Worktree, options?: RemoveOptions): ReturnType<typeof removeWorktree>
}

interface WorktreeFixtureOptions {
  project?: string
  root?: string
  settings?: Partial<WorktreeSettings>
  files?: Record<string, string>
}

/** A project with one commit on `main`, a store and a folder for worktrees: what is needed to make and remove worktrees. */
export async function openWorktreeFixture(
  t: TestContext,
  options: WorktreeFixtureOptions = {},
): Promise<WorktreeFixture> {
  const home = tempDir(t)
  const project = options.project ?? gitProject(t, options.files)
  const store = await openStore({ file: join(home, 'store.db') })
  t.after(() => store.close())
  let now = 1_700_000_000_000
  const deps: WorktreeDeps = {
    store,
    clock: { now: () => now },
    log: silentLog,
    root: options.root ?? join(home, 'worktrees'),
    env: bareEnv(home),
    settings: { ...nestValues(defaultValues()).worktrees, ...options.settings },
  }
  const gitIn = (directory: string, ...args: string[]) => plainGit(directory, home, args)
  return {
    project,
    deps,
    pass: ms => {
      now += ms
    },
    git: (...args) => gitIn(project, ...args),
    gitIn,
    make: async wanted => {
      const worktree = await makeWorktree({ project, task: 't-000001', attempt: 1, ...wanted }, deps)
      if ('kind' in worktree) throw new Error(`in place: ${worktree.why}`)
      return worktree
    },
    remove: (worktree, remove) => removeWorktree(worktree, deps, remove),
  }
}

/** Calls git like a person or an agent, but without the machine's own settings. */
export function plainGit(directory: string, home: string, args: string[]): string {
  const who = ['-c', 'user.name=A', '-c', 'user.email=a@example.invalid', '-c', 'protocol.file.allow=always']
  return execFileSync('git', [...who, ...args], { cwd: directory, env: bareEnv(home), stdio: 'pipe', encoding: 'utf8' })
}

export function write(directory: string, files: Record<string, string>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, path)), { recursive: true })
    writeFileSync(join(directory, path), text)
  }
}

/** An open run of a project: its slots are kept for its next task. */
export async function insertRun(store: Store, project: string): Promise<string> {
  const nothing = { outcome: null, reason: null, gave_up: null, stopping: false, iterations: 0, ended_at: null }
  const run = { id: 'r-000001', project, target: { kind: 'project' }, options: {}, state: 'running', created_at: 1 }
  await store.transaction(tx => store.runs.insert({ ...run, ...nothing } as RunRow, tx))
  return run.id
}

/** A folder of a file system in memory. */
export function folderInMemory(t: TestContext): string {
  const dir = mkdtempSync('/dev/shm/pcc-test-')
  t.after(() => rmSync(dir, { recursive: true, force: true }))
  return dir
}

/** Replaces the beginning of a file through a mapping that was read before, as any program can: in memory that leaves no new time. */
export function writeThroughMapping(file: string, text: string): void {
  execFileSync('perl', ['-e', WRITE, file, `${text.length}`], { input: text, stdio: 'pipe' })
}

const WRITE = `
my ($mmap, $read, $write) = \`uname -m\` =~ /x86_64/ ? (9, 0, 1) : (222, 63, 64);
my ($name, $length) = @ARGV;
open my $file, "+<", $name or die;
my $at = syscall($mmap, 0, $length + 0, 3, 1, fileno $file, 0);
pipe my $out, my $in;
syscall($write, fileno $in, $at, $length + 0) == $length or die "cannot read: $!";
syscall($read, 0, $at, $length + 0) == $length or die "cannot write: $!";
`
