import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { appPathsFor } from '../../../src/base/app-paths.ts'
import { workLines } from '../../../src/cli/commands/review.ts'
import type { NewEvidence } from '../../../src/domain/evidence.ts'
import { openEscalations } from '../../../src/human/escalations.ts'
import { openStore } from '../../../src/store/open.ts'
import { openTasks } from '../../../src/tasks/tasks.ts'
import { bareEnv, gitProject, tempDir } from '../../support/world.ts'
import { type Pcc, pccFor } from '../pcc.ts'
import { plain } from '../render/sample.ts'
import { seed } from '../seeded.ts'

const NASTY = 'good \u001b[2Jbye\n'

/** Work in a worktree that passed its gates and waits for a review; no daemon has run yet. */
async function seedReview(t: TestContext) {
  const pcc = pccFor(t)
  const project = gitProject(t)
  const top = join(tempDir(t), 'tree')
  const git = (cwd: string, ...args: string[]) =>
    execFileSync('git', args, { cwd, env: bareEnv(project), stdio: 'pipe' })
      .toString()
      .trim()
  const base = git(project, 'rev-parse', 'HEAD')
  const id = await seedRows(pcc, project, { base, top })
  git(project, 'worktree', 'add', '-q', '-b', `pcc/${id}`, top)
  writeFileSync(join(top, 'new.txt'), NASTY)
  git(top, 'add', '-A')
  git(top, '-c', 'user.name=A', '-c', 'user.email=a@example.invalid', 'commit', '-qm', 'new')
  await using store = await openStore({ file: appPathsFor({ env: pcc.env }).database })
  const [merge] = await store.merges.list({ task: id })
  if (merge) await store.transaction(tx => store.merges.move(merge, { head: git(top, 'rev-parse', 'HEAD') }, tx))
  return { pcc, id, project, git: (...args: string[]) => git(project, ...args) }
}

async function seedRows(pcc: Pcc, project: string, { base, top }: { base: string; top: string }): Promise<string> {
  await seed(pcc, [{ project }])
  await using store = await openStore({ file: appPathsFor({ env: pcc.env }).database })
  const clock = { now: Date.now }
  const tasks = openTasks({ store, clock })
  const session = 's-aaaaaa'
  return store.transaction(async tx => {
    const { id } = await tasks.submit({ session_id: session, project, text: 'add new.txt' }, tx)
    const place = { directory: top, top, task: id, attempt: 1, branch: `pcc/${id}`, target: 'main', base }
    const options = { project, task: 'add new.txt', place, landing: { verified: 1, failed: 0, conflicts: 0 } }
    await store.sessions.update(session, { options, task_id: id }, tx)
    await tasks.claimNext(session, tx)
    await tasks.transition(id, { to: 'verifying' }, tx)
    await tasks.transition(id, { to: 'merging' }, tx)
    const repository = join(project, '.git')
    const rest = { reason: null, archive: null, setup: null, created_at: 1, ended_at: null }
    await store.worktrees.put({ ...place, project, repository, state: 'live', ...rest }, tx)
    const merge = await store.merges.insert(
      {
        ...{ task_id: id, attempt: 1, project, repository, branch: place.branch, target: 'main', strategy: 'rebase' },
        ...{ state: 'review', reason: null, base: null, head: base, result: null, batch: null, as_pull_request: 0 },
        ...{ rounds: 0, cleaned_at: null, created_at: 1, updated_at: 1 },
      },
      tx,
    )
    const check: NewEvidence = {
      ...{
        task_id: id,
        attempt: 1,
        round: 1,
        gate: 'test',
        kind: 'command',
        status: 'passed',
        tree: 'abcdef0123456789',
      },
      ...{ command: 'npm test', exit: 0, duration_ms: 2_000, output: 'ok', findings: [], tests: null, cached: false },
      created_at: 1,
    }
    const skipped: NewEvidence = {
      ...{
        ...check,
        gate: 'regression',
        kind: 'regression',
        status: 'skipped',
        command: null,
        exit: null,
        duration_ms: 0,
      },
      output: 'Not compared: nobody knows the tests before the work.',
    }
    await store.evidence.put({ task_id: id, attempt: 1, round: 1 }, [check, skipped], tx)
    await openEscalations({ store, clock }).record(
      {
        ...{ kind: 'review', session_id: session, project, task: 'add new.txt', call_id: '', tool: 'review' },
        ...{ target: `${id} add new.txt`, input: { task: id, attempt: 1, merge: merge.id }, risk: 'LOW' },
        ...{ reason: 'look at it', reasons: [], normalised: `review ${id}`, state: 'open' },
      },
      tx,
    )
    return id
  })
}

test('a person sees the diff and the evidence of work that waits for review, and approves it', async t => {
  const { pcc, id, git, project } = await seedReview(t)
  const diff = await pcc.run(['diff', id])
  assert.match(diff.stdout, /^diff --git a\/new\.txt b\/new\.txt\n/, 'what is piped on is a diff and nothing else')
  execFileSync('git', ['apply', '--check', '-'], {
    cwd: project,
    env: bareEnv(project),
    input: diff.stdout,
    stdio: 'pipe',
  })
  assert.match(
    (await pcc.run(['diff', id, '--stat'])).stdout,
    /not merged\)\n\n new\.txt +\+1 -0\n 1 file, 1 line added/,
  )
  const json = JSON.parse((await pcc.run(['diff', id, '--json'])).stdout)
  assert.deepEqual(
    [json.source, json.branch, json.files],
    ['worktree', `pcc/${id}`, [{ path: 'new.txt', added: 1, removed: 0 }]],
  )
  const shown = await pcc.run(['review', id])
  assert.ok(!shown.stdout.includes('\u001b'), 'nothing in it reaches a terminal as a command')
  assert.match(shown.stdout, /✓ test: npm test, 2.0s[\s\S]*new\.txt/)
  assert.match(shown.stdout, /– regression: skipped\. Not compared: nobody knows/)
  assert.match((await pcc.run(['gates', 'list', id])).stdout, /regression +skipped\n +Not compared: nobody knows/)
  assert.match(shown.stderr, new RegExp(`pcc review ${id} --approve`))
  const all = await pcc.run(['review'])
  assert.match(all.stdout, new RegExp(`^${id} add new.txt .*\n\nLook at one with: pcc review ${id}\n$`))
  assert.equal((await pcc.run(['review', '--approve'])).code, 2, 'of which task')
  const pending = (await pcc.run(['pending'])).stdout
  assert.ok(pending.includes(`May it be merged? ${id} add new.txt`) && pending.includes(`pcc review ${id}`), pending)
  assert.match((await pcc.run(['merge'])).stdout, new RegExp(`waits for your review: pcc review ${id}`))
  assert.match((await pcc.run(['task', 'show', id])).stdout, /Waits for you: pcc review[\s\S]*✓ test: npm test/)
  assert.equal((await pcc.run(['review', id, '--return'])).code, 2, 'its agent has to be told what')
  const approved = await pcc.run(['review', id, '--approve'])
  assert.match(approved.stdout, /queued to merge into main/)
  let state = ''
  while (state !== 'done') {
    state = JSON.parse((await pcc.run(['task', 'show', id, '--json'])).stdout).task.state
    if (state !== 'done') await sleep(100)
  }
  assert.equal(git('show', 'main:new.txt'), NASTY.trim())
  assert.match((await pcc.run(['review'])).stdout, /^Nothing waits for your review/)
  const merged = JSON.parse((await pcc.run(['diff', id, '--json'])).stdout)
  assert.match(merged.diff, /\+good/)
  const late = await pcc.run(['review', id, '--approve'])
  assert.deepEqual([late.code, /does not wait for a review: it is done/.test(late.stderr)], [1, true])
  assert.ok(existsSync(pcc.home))
})

test('work without a worktree has no diff; it is shown, and not said to be merged when it is approved', async t => {
  const pcc = pccFor(t)
  const project = gitProject(t)
  await seed(pcc, [{ project }])
  const id = await seedAcceptance(pcc, project)
  const shown = await pcc.run(['review', id])
  assert.deepEqual([shown.code, shown.stdout], [0, `${id}  add new.txt\n\nNothing was checked.\n\n`], shown.stderr)
  const { stdout, stderr } = await pcc.run(['review', id, '--approve'])
  assert.equal(stdout, `${id} add new.txt: accepted; it is in the project already, nothing is merged.\n`, stderr)
})

/** Work in the project itself, whose checks a person has to accept. */
async function seedAcceptance(pcc: Pcc, project: string): Promise<string> {
  await using store = await openStore({ file: appPathsFor({ env: pcc.env }).database })
  const clock = { now: Date.now }
  const tasks = openTasks({ store, clock })
  const session = 's-aaaaaa'
  return store.transaction(async tx => {
    const { id } = await tasks.submit({ session_id: session, project, text: 'add new.txt' }, tx)
    const landing = { verified: 1, failed: 0, conflicts: 0 }
    await store.sessions.update(session, { options: { project, task: 'add new.txt', landing }, task_id: id }, tx)
    await tasks.claimNext(session, tx)
    await tasks.transition(id, { to: 'verifying' }, tx)
    await openEscalations({ store, clock }).record(
      {
        ...{ kind: 'review', session_id: session, project, task: 'add new.txt', call_id: '', tool: 'accept' },
        ...{ target: `${id} add new.txt`, input: { task: id, attempt: 1, round: 1, returned: 0 }, risk: 'LOW' },
        ...{ reason: 'a check changed', reasons: [], normalised: `accept ${id}`, state: 'open' },
      },
      tx,
    )
    return id
  })
}

test('of work that changed nothing no merge is told', () => {
  const work = {
    task: 't-1',
    attempt: 1,
    evidence: [],
    review: null,
    worktree: { attempt: 1, base: 'a', state: 'removed' },
  }
  const lines = (head: string) =>
    workLines(
      { ...work, merge: { attempt: 1, state: 'merged', reason: null, target: 'main', head } } as never,
      plain(80),
    )
  assert.deepEqual(lines('b'), ['Merge: merged (into main)'])
  assert.deepEqual(lines('a'), ['Merge: there was nothing to merge'])
})
