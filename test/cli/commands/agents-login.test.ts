import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { bareEnv, tempDir } from '../../support/world.ts'
import { pccFor } from '../pcc.ts'

test('agents path names the program that came with pcc, which runs and has a login of its own', async t => {
  const { code, stdout } = await pccFor(t).run(['agents', 'path'])
  assert.equal(code, 0)
  const env = bareEnv(tempDir(t))
  assert.match(execFileSync(stdout.trim(), ['--version'], { env, encoding: 'utf8' }), /Claude Code/)
  const help = execFileSync(stdout.trim(), ['auth', 'login', '--help'], { env, encoding: 'utf8' })
  for (const flag of ['--console', '--sso', '--email']) assert.match(help, new RegExp(flag))
})

test("agents login hands the terminal to the program's own login and leaves with its exit code", async t => {
  const dir = tempDir(t)
  const program = join(dir, 'claude')
  // Not the real one: it would log in.
  writeFileSync(program, `#!/bin/sh\nprintf '%s\\n' "$@" > "${dir}/args"\necho "please go to a page"\nexit 7\n`)
  chmodSync(program, 0o755)
  const pcc = pccFor(t, { PCC_AGENTS_PATH: program })
  const { code, stdout } = await pcc.run(['agents', 'login', '--console', '--email', 'a@example.invalid'])
  assert.deepEqual([code, stdout], [7, 'please go to a page\n'])
  const given = ['auth', 'login', '--console', '--email', 'a@example.invalid', '']
  assert.deepEqual(readFileSync(join(dir, 'args'), 'utf8').split('\n'), given)
})

test('agents login with a program that is not there says so', async t => {
  const { code, stderr } = await pccFor(t, { PCC_AGENTS_PATH: '/nowhere/claude' }).run(['agents', 'login'])
  assert.equal(code, 1)
  assert.match(stderr, /Claude Code cannot be started: .*\/nowhere\/claude/)
})
