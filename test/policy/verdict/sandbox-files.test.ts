import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { judgePermission } from '../../../src/brain/rules/permission.ts'
import { openClassifier } from '../../../src/policy/classify/classify.ts'
import { lookAtPath } from '../../../src/policy/paths/look.ts'
import { decide } from '../../../src/policy/verdict/decide.ts'
import { tempDir } from '../../support/world.ts'

test('what a sandbox holds because of the files that are there is asked about when they are others', async t => {
  using quick = openClassifier()
  // Reads in this thread, so that a busy machine makes no difference.
  using patient = openClassifier({ realPath: path => path, look: lookAtPath })
  const project = tempDir(t)
  const isHeld = async (command: string, reading = patient) => {
    const input = { tool: 'Bash', input: { command }, project, home: '/home/u' }
    const assessment = await reading.classify(input)
    const standard = { tool: 'Bash', blocked: [], rules: [], autoApproveLow: true, threshold: 0.7 }
    const context = { ...standard, opinion: judgePermission, attached: false, unattendedHigh: 'deny' as const }
    const { verdict } = await decide(assessment, { ...context, walled: true }, new AbortController().signal)
    return verdict === 'allow'
  }
  writeFileSync(join(project, '.env.example'), 'A=1\n')
  assert.equal(await isHeld('cp .env.example .env'), true)
  for (const size of [10, 5_000]) {
    writeFileSync(join(project, '.env'), 'A'.repeat(size))
    for (const reading of [quick, patient])
      assert.equal(await isHeld('cp .env.example .env', reading), false, `an .env of ${size} bytes is there`)
  }
  for (const name of ['src/a.ts', '.husky/pre-commit', 'app/__main__.py']) {
    mkdirSync(join(project, name, '..'), { recursive: true })
    writeFileSync(join(project, name), 'x')
  }
  const pack = (archive: string, file: string) => execFileSync('tar', ['czf', archive, file], { cwd: project })
  pack('ok.tgz', 'src/a.ts')
  pack('hook.tgz', '.husky/pre-commit')
  mkdirSync(join(project, 'new'))
  assert.equal(await isHeld('tar xzf ok.tgz -C new'), true)
  for (const command of [
    'tar xzf ok.tgz',
    'tar xzf ok.tgz -C src',
    'tar xzf ok.tgz -C missing',
    'tar xzf hook.tgz -C new',
    'tar xzf missing.tgz -C new',
    'tar xzf ok.tgz -C new --transform s,a,b,',
    'tar xzf ok.tgz -C new -C .',
    'tar xzf ok.tgz -C new && npm test',
  ])
    assert.equal(await isHeld(command), false, command)
  assert.equal(await isHeld('python3 -m app'), true)
  rmSync(join(project, 'app'), { recursive: true })
  assert.equal(await isHeld('python3 -m app'), false)
})
