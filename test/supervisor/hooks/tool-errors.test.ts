import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import type { Risk } from '../../../src/domain/session.ts'
import { findKnownFailure } from '../../../src/supervisor/hooks/known-failures.ts'
import { explainErrors, type ToolErrorDeps, type ToolErrorReport } from '../../../src/supervisor/hooks/tool-errors.ts'
import { bareEnv, commitAll } from '../../support/world.ts'
import { answerBy, type HookWorld, openHookWorld } from './hook-world.ts'

async function examine(world: HookWorld, call: object, deps: Partial<ToolErrorDeps> & { level?: Risk } = {}) {
  const { level = 'LOW', ...more } = deps
  const explain = explainErrors({ risk: async () => level, ...more })
  const failed = { tool: 'Bash', input: { command: 'npm test' }, ok: false, output: '', ...call }
  const { context, decision } = await answerBy(explain, world.event('tool_after', failed), world.context())
  assert.equal(decision, 'none')
  return context === undefined ? undefined : (JSON.parse(context.slice(context.indexOf('{'))) as ToolErrorReport)
}

const KNOWN: [code: string, tool: string, output: string, exit?: number][] = [
  ['edit.no_match', 'Edit', 'Error: String to replace not found in file.'],
  ['edit.many_matches', 'Edit', 'Found 3 matches of the string to replace'],
  ['edit.stale', 'Write', 'File has not been read yet. Read it first before writing to it.'],
  ['git.lock', 'Bash', "fatal: Unable to create '/x/.git/index.lock': File exists."],
  ['git.conflict', 'Bash', 'CONFLICT (content): Merge conflict in a.txt'],
  ['git.rejected', 'Bash', ' ! [rejected]        main -> main (fetch first)'],
  ['port.in_use', 'Bash', 'Error: listen EADDRINUSE: address already in use :::3000'],
  ['disk.full', 'Bash', 'write /x: no space left on device'],
  ['memory.full', 'Bash', 'Killed', 137],
  ['time.out', 'Bash', '', 124],
  ['network.none', 'Bash', 'getaddrinfo ENOTFOUND packages.example'],
  ['access.refused', 'Bash', 'touch: /etc/x: Permission denied'],
  ['module.missing', 'Bash', "Error: Cannot find module 'zod'"],
  ['program.missing', 'Bash', 'bash: line 1: pnpm: command not found', 127],
  ['script.missing', 'Bash', 'npm error Missing script: "tset"'],
  ['file.missing', 'Read', 'File does not exist.'],
  ['types.failed', 'Bash', "a.ts(1,1): error TS2304: Cannot find name 'x'."],
  ['tests.failed', 'Bash', '# pass 3\n# fail 1\n'],
]

test('known failures have a cause and a next step', () => {
  const found = KNOWN.map(([, tool, output, exit_code]) => findKnownFailure({ tool, output, exit_code })?.code)
  assert.deepEqual(
    found,
    KNOWN.map(([code]) => code),
  )
  assert.equal(findKnownFailure({ tool: 'Bash', output: 'something odd', exit_code: 1 }), undefined)
  assert.equal(findKnownFailure({ tool: 'Bash', output: '# pass 3\n# fail 0\n' }), undefined)
  assert.equal(findKnownFailure({ tool: 'Bash', output: 'String to replace not found' }), undefined)
})

test('a failed call is explained once, and what nobody knows about is not', async t => {
  const world = openHookWorld(t)
  const failed = { output: 'bash: vitest: command not found', exit_code: 127 }
  const report = await examine(world, failed)
  assert.deepEqual(report?.issues, [
    { code: 'program.missing', text: 'The program is not installed, or not on the path.' },
  ])
  assert.deepEqual([report?.status, report?.profile, report?.next_steps.length], ['failed', 'quick', 1])
  assert.deepEqual(report?.checks, [{ name: 'known failures', status: 'failed' }])
  assert.equal(await examine(world, failed), undefined)
  assert.ok(await examine(world, { ...failed, session: 'c-2' }))
  assert.ok(await examine(world, { ...failed, input: { command: 'npm run other' } }))
  assert.equal(await examine(world, { output: 'exit 1: odd' }), undefined)
  assert.equal(await examine(world, { ...failed, ok: true, session: 'c-3' }), undefined)
})

test('the more a call may have broken, the more is looked at, and nothing is changed by looking', async t => {
  const world = openHookWorld(t, { files: { 'a.txt': 'a\n' } })
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=T', '-c', 'user.email=t@t', ...args], {
      ...{ cwd: world.project, env: bareEnv(world.home), encoding: 'utf8', stdio: 'pipe' },
    })
  git('checkout', '-qb', 'other')
  world.write('a.txt', 'b\n')
  commitAll(world.project, 'b')
  git('checkout', '-q', 'main')
  world.write('a.txt', 'c\n')
  commitAll(world.project, 'c')
  assert.throws(() => git('merge', 'other'))
  const before = git('status', '--porcelain')
  assert.equal(await examine(world, { output: 'odd' }, { level: 'LOW' }), undefined)
  const medium = await examine(world, { output: 'odd' }, { level: 'MEDIUM' })
  assert.deepEqual([medium?.profile, medium?.status], ['standard', 'unclear'])
  assert.match(medium?.issues[0]?.text ?? '', /merge of git is not finished.*a\.txt/)
  const high = await examine(world, { output: 'odd', input: { command: 'make deploy' } }, { level: 'HIGH' })
  assert.equal(high?.profile, 'deep')
  assert.deepEqual(
    high?.issues.map(({ code }) => code),
    ['git.unfinished', 'call.half_done'],
  )
  assert.match(high?.next_steps.at(-1) ?? '', /before you repeat it/)
  const read = { tool: 'Read', input: { file_path: 'x' }, output: 'odd' }
  assert.equal(await examine(world, read, { level: 'HIGH' }), undefined, 'reading breaks nothing')
  assert.equal(git('status', '--porcelain'), before)
})
