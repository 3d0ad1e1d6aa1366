import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { MergeView } from '../../src/domain/merge.ts'
import type { TaskView } from '../../src/domain/task.ts'
import type { WebhookView } from '../../src/domain/webhook.ts'
import { callApi } from '../daemon/api/api-world.ts'
import { GITHUB_SECRET, githubPayload, type Payload, signedByGitHub } from '../daemon/webhooks/github-messages.ts'
import { tempDir } from '../support/world.ts'
import { write } from '../workspace/worktrees/worktree-fixture.ts'
import { agentWorld } from './agent-world.ts'

const SCENARIO = `
conversations:
  - match: the shop greets nobody
    turns:
      - tools: [{ Write: { file_path: "{{cwd}}/greeting", content: "helo\\n" } }]
      - text: The shop greets.
      - expect: { prompt_contains: spelling }
        tools: [{ Read: { file_path: "{{cwd}}/greeting" } }]
      - tools: [{ Write: { file_path: "{{cwd}}/greeting", content: "hello\\n" } }]
      - text: It is spelt right now.
`

/** Answers like gh. */
const GH = `#!/bin/sh
here=$(dirname "$0")
if [ "$2" = list ]; then cat "$here/open" 2>/dev/null; exit 0; fi
cat >/dev/null
echo https://github.com/octo/shop/pull/2 | tee "$here/open"
`

/** Stands in for ssh: the server is this machine. */
const SSH = `#!/bin/sh
if [ "$1" = -G ]; then exit 1; fi
for last; do :; done
exec sh -c "$last"
`

function git(cwd: string, ...args: string[]): string {
  return execFileSync('git', args, { cwd, encoding: 'utf8' }).trim()
}

test('an issue with the label becomes a task and a pull request, a failed check goes back to the same conversation, and the merge ends it', async t => {
  const { pcc, project, simulator } = await agentWorld(t, SCENARIO)
  const tools = tempDir(t)
  write(tools, { gh: GH, ssh: SSH })
  for (const name of ['gh', 'ssh']) chmodSync(join(tools, name), 0o755)
  const remote = join(tempDir(t), 'remote.git')
  git(project, 'init', '-q', '--bare', remote)
  git(project, 'remote', 'add', 'origin', `ssh://git@example.invalid${remote}`)
  Object.assign(pcc.env, {
    ...{ PCC_API_PORT: '0', PCC_MERGE_MODE: 'pr', PCC_WEBHOOKS_GITHUB_SECRET: GITHUB_SECRET },
    ...{ PCC_WEBHOOKS_GITHUB_REPOSITORIES: `octo/shop=${project}`, GIT_SSH_COMMAND: join(tools, 'ssh') },
    PATH: `${tools}:${pcc.env['PATH']}`,
  })
  const on = await pcc.run(['daemon', 'api', 'on', '--json'])
  assert.equal(on.code, 0, on.stderr)
  const { address } = JSON.parse(on.stdout) as { address: string }
  const read = async <T>(...args: string[]): Promise<T> => JSON.parse((await pcc.run([...args, '--json'])).stdout) as T
  const post = async (event: string, payload: Payload) => {
    const { headers, raw } = await signedByGitHub(event, payload)
    return callApi(address, undefined, { method: 'POST', path: '//webhook/github', headers, raw })
  }
  const message = async () => (await read<{ messages: WebhookView[] }>('webhooks', 'list')).messages[0]
  const reached = async <T>(look: () => Promise<T | undefined>): Promise<T> => {
    for (let tries = 0; tries < 120; tries += 1) {
      const found = await look()
      if (found !== undefined) return found
      await new Promise(resolve => setTimeout(resolve, 500))
    }
    throw new Error(`it did not come: ${JSON.stringify(await message())}\n${(await pcc.run(['task', 'list'])).stdout}`)
  }

  const labelled = githubPayload('issues', 'labeled', payload => {
    Object.assign(payload.issue, { number: 7, title: 'the shop greets nobody', body: 'Make a file greeting.' })
    payload.label.name = 'pcc'
  })
  assert.deepEqual((await post('issues', labelled)).body, { status: 'queued' })
  const proposed = async (count: number) =>
    reached(async () => {
      const { merges } = await read<{ merges: MergeView[] }>('merge', 'list', '--all', '--project', project)
      const ready = merges.filter(({ state }) => state === 'proposed')
      return ready.length === count ? ready.at(-1) : undefined
    })
  const first = await proposed(1)
  const shown = async () => (await read<{ tasks: TaskView[] }>('task', 'list', '--all', '--project', project)).tasks[0]
  assert.equal((await shown())?.alias, 'octo/shop#7')
  assert.equal(git(remote, 'show', `${first.branch}:greeting`), 'helo')

  const failed = githubPayload('check_run', 'completed', payload => {
    const { check_run: check } = payload
    Object.assign(check, { conclusion: 'failure', name: 'spelling', head_sha: first.result ?? first.head })
    check.check_suite.head_branch = first.branch
    check.output = { title: 'spelling', summary: '`helo` is no word', text: null }
  })
  assert.equal((await post('check_run', failed)).status, 202)
  const second = await proposed(2)
  assert.equal(git(remote, 'show', `${second.branch}:greeting`), 'hello')
  const ran = await reached(async () => ((await shown())?.state === 'done' ? await shown() : undefined))
  assert.equal(ran.attempt, 1, 'the same attempt')

  const logs = join(pcc.env['CLAUDE_CONFIG_DIR'] ?? join(pcc.env['HOME'] ?? '', '.claude'), 'projects')
  const conversations = readdirSync(logs, { recursive: true, encoding: 'utf8' }).filter(name => name.endsWith('.jsonl'))
  const told = conversations.map(name => readFileSync(join(logs, name), 'utf8'))
  const both = told.filter(text => text.includes('the shop greets nobody') && text.includes('`helo` is no word'))
  assert.equal(both.length, 1, 'one conversation of the vendor has the issue and the failed check')
  assert.match(both[0] ?? '', /External text, from octo\/shop#7 by/)
  assert.deepEqual(
    simulator.requests.flatMap(({ unexpected }) => unexpected),
    [],
  )

  const merged = githubPayload('pull_request', 'closed', payload => {
    const { pull_request: pull } = payload
    Object.assign(pull, { merged: true, merge_commit_sha: 'a'.repeat(40) })
    pull.head.ref = second.branch
  })
  assert.equal((await post('pull_request', merged)).status, 202)
  await reached(async () => ((await message())?.state === 'done' ? true : undefined))
  const { merges } = await read<{ merges: MergeView[] }>('merge', 'list', '--all', '--project', project)
  assert.deepEqual([merges.at(-1)?.state, merges.at(-1)?.result], ['merged', 'a'.repeat(40)])
  assert.equal((await shown())?.state, 'done')
  const worktrees = join(pcc.env['PCC_HOME'] ?? '', 'worktrees')
  assert.ok(
    !existsSync(worktrees) ||
      !readdirSync(worktrees, { recursive: true }).some(name => String(name).endsWith('/greeting')),
  )
})
