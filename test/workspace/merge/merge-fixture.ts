import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { VerificationResult } from '../../../src/domain/evidence.ts'
import type { Merge } from '../../../src/domain/merge.ts'
import type { MergeStrategy } from '../../../src/domain/option-values.ts'
import type { Worktree } from '../../../src/domain/worktree.ts'
import type { MergeOutcome } from '../../../src/workspace/merge/outcomes.ts'
import { type EnqueueRequest, enqueueMerge } from '../../../src/workspace/merge/queue.ts'
import { openWorktreeFixture, type WorktreeFixture, write } from '../worktrees/worktree-fixture.ts'
import { driveQueue, type QueueDriver } from './drive-queue.ts'

/** What became of merges, and which commits were verified, in order. */
export type MergeNotice = { task: string } & (
  | { kind: 'merged' | 'proposed' | 'refused' | 'unaccepted' }
  | { kind: 'conflicted'; conflict: Extract<MergeOutcome, { kind: 'conflicted' }>['conflict'] }
  | { kind: 'given_up'; why: string }
  | { kind: 'verified'; commit: string }
)

export interface MergeFixture extends WorktreeFixture {
  driver: QueueDriver
  told: MergeNotice[]
  queue: { repository: string; target: string }
  /** A worktree with one commit that writes these files; null deletes one. */
  work(task: string, files: Record<string, string | null>, options?: WorkOptions): Promise<Worktree>
  /** Commits in the person's own checkout. */
  commit(files: Record<string, string>): void
  enqueue(worktree: Worktree, options?: Partial<EnqueueRequest>): Promise<Merge>
  advance(): ReturnType<typeof driveQueue>
  /** Sets the verdict of the gates from now on. */
  gates(verdict: (commit: string, worktree: Worktree) => VerificationResult['status']): void
  stale: Set<string>
  row(task: string): Promise<Merge>
  tip(ref: string): string
  /** Subjects of the target's commits, newest first. */
  subjects(): string[]
}

export interface WorkOptions {
  attempt?: number
  target?: string
}

/** A project with a queue for its branch `main`; there are no tasks beside the merges. */
export async function openMergeFixture(
  t: TestContext,
  options: { batch?: number; files?: Record<string, string> } = {},
) {
  const fixture = await openWorktreeFixture(t, { files: options.files ?? { 'a.txt': 'one\ntwo\nthree\n' } })
  return mergeFixtureOn(fixture, options.batch ?? 1)
}

export function mergeFixtureOn(fixture: WorktreeFixture, batch: number): MergeFixture {
  const { project, deps, git, gitIn } = fixture
  const { store } = deps
  const told: MergeNotice[] = []
  const stale = new Set<string>()
  let verdict: (commit: string, worktree: Worktree) => VerificationResult['status'] = () => 'passed'
  const driver: QueueDriver = {
    deps: {
      ...{ store, clock: deps.clock, log: deps.log, env: {} },
      isStale: async ({ task_id }) => stale.has(task_id),
    },
    batch,
    verify: async ({ merge, worktree, result: commit }) => {
      told.push({ kind: 'verified', task: merge.task_id, commit })
      return verificationOf(verdict(commit, worktree), commit)
    },
    note: outcome => told.push(noticeOf(outcome)),
  }
  const queue = { repository: join(project, '.git'), target: 'main' }
  return {
    ...fixture,
    ...{ driver, told, stale, queue },
    work: async (task, files, { attempt = 1, target } = {}) => {
      const worktree = await fixture.make({ task, attempt, ...(target && { target }) })
      for (const [path, text] of Object.entries(files)) {
        if (text === null) rmSync(join(worktree.top, path))
        else write(worktree.top, { [path]: text })
      }
      gitIn(worktree.top, 'add', '-A')
      gitIn(worktree.top, 'commit', '-qm', `work of ${task}`)
      return worktree
    },
    commit: files => {
      write(project, files)
      git('add', '-A')
      git('commit', '-qm', `by hand: ${Object.keys(files).join(' ')}`)
    },
    enqueue: (worktree, more) => {
      const head = gitIn(worktree.top, 'rev-parse', 'HEAD').trim()
      const strategy: MergeStrategy = 'rebase'
      const wanted = { strategy, head, ...more }
      return store.transaction(tx => enqueueMerge(worktree, wanted, { store, clock: deps.clock, tx }))
    },
    advance: () => driveQueue(queue, driver),
    gates: next => {
      verdict = next
    },
    row: async task => {
      const [row] = (await store.merges.list({ task })).slice(-1)
      assert.ok(row, `no merge of ${task}`)
      return row
    },
    tip: ref => git('rev-parse', ref).trim(),
    subjects: () => git('log', '--format=%s', 'main').trim().split('\n'),
  }
}

function noticeOf(outcome: MergeOutcome): MergeNotice {
  const task = outcome.merge.task_id
  if (outcome.kind === 'conflicted') return { kind: outcome.kind, task, conflict: outcome.conflict }
  return outcome.kind === 'given_up' ? { kind: outcome.kind, task, why: outcome.why } : { kind: outcome.kind, task }
}

export function verificationOf(status: VerificationResult['status'], commit: string): VerificationResult {
  const next_steps = status === 'passed' ? [] : ['mend the test']
  return { status, isProven: true, commit, tree: null, checks: [], findings: [], next_steps }
}
