import assert from 'node:assert/strict'
import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Assessment } from '../../src/domain/assessment.ts'
import { classify } from '../../src/policy/classify/classify.ts'
import { findSecretPart, globFindsSecret } from '../../src/policy/paths/secret-files.ts'
import { tempDir } from '../support/world.ts'

function world(t: TestContext) {
  const root = realpathSync(tempDir(t))
  const project = join(root, 'proj')
  const home = join(root, 'home')
  for (const folder of [join(project, 'src'), join(home, '.ssh'), join(root, 'proj-other/src')])
    mkdirSync(folder, { recursive: true })
  const found = (tool: string, file_path: string, more: object = {}) =>
    classify({ tool, input: { file_path }, project, home, ...more }) as Assessment
  return {
    root,
    project,
    home,
    found,
    risk: (tool: string, path: string, more?: object) => found(tool, path, more).risk,
  }
}

test('a write is LOW in the folders for code, MEDIUM elsewhere in the project and HIGH outside', t => {
  const { root, project, risk } = world(t)
  assert.equal(risk('Write', 'src/a.ts'), 'LOW')
  assert.equal(risk('Edit', join(project, 'src/new/deep/a.ts')), 'LOW')
  assert.equal(risk('Write', 'README.md'), 'MEDIUM')
  assert.equal(risk('Write', 'docs/a.md', { safeDirectories: ['docs/'] }), 'LOW')
  assert.equal(risk('Write', 'src/../../x'), 'HIGH')
  assert.equal(risk('Write', join(root, 'proj-other/src/a.ts')), 'HIGH')
  assert.equal(risk('Write', '~/notes.md'), 'HIGH')
})

test('links are followed to where the write would land, also when they dangle or loop', t => {
  const { root, project, home, risk } = world(t)
  symlinkSync(join(home, '.bashrc'), join(project, 'src/dangling.ts'))
  symlinkSync(root, join(project, 'src/up'))
  symlinkSync(join(project, 'src/loop'), join(project, 'src/loop'))
  symlinkSync(join(project, '.env'), join(project, 'src/settings.ts'))
  symlinkSync(join(project, 'src'), join(root, 'way-in'))
  assert.equal(risk('Write', 'src/dangling.ts'), 'HIGH')
  assert.equal(risk('Write', 'src/up/x'), 'HIGH')
  assert.equal(risk('Write', 'src/loop/x'), 'HIGH')
  assert.equal(risk('Write', 'src/settings.ts'), 'HIGH')
  assert.equal(risk('Read', 'src/settings.ts'), 'HIGH')
  assert.equal(risk('Write', join(root, 'way-in/a.ts')), 'LOW')
})

test('a command through a link is judged like the file it reaches', t => {
  const { project, home } = world(t)
  writeFileSync(join(home, '.ssh/id_rsa'), 'x')
  symlinkSync(join(home, '.ssh/id_rsa'), join(project, 'src/key.txt'))
  const { risk } = classify({ tool: 'Bash', input: { command: 'cat src/key.txt' }, project, home }) as Assessment
  assert.equal(risk, 'HIGH')
})

test('secrets are known by name in any case, and examples and code are not secrets', () => {
  for (const path of [
    '/p/.env',
    '/p/.ENV',
    '/p/src/.env.local',
    '/h/.ssh/id_rsa',
    '/p/server.PEM',
    '/h/.aws/config',
    '/p/credentials.json',
    '/etc/shadow',
    '/proc/1/environ',
    '/p/certs/apple-dist.p12',
    '/p/keys/default.key',
    '/p/.vault_pass',
    '/p/infra/terraform.tfvars',
    '/p/prod.auto.tfvars',
    '/h/.config/github-copilot/hosts.json',
    '/h/Library/Application Support/Google/Chrome/Default/Login Data',
    '/etc/wireguard/wg0.conf',
  ])
    assert.ok(findSecretPart(path), path)
  for (const path of [
    '/p/.env.example',
    '/p/env.ts',
    '/p/src/credentials.ts',
    '/h/.ssh/id_rsa.pub',
    '/p/environment.md',
    '/p/src/token.rs',
    '/p/certs/server.pem.example',
    '/p/docs/vault.md',
    '/p/terraform.tfvars.example',
    '/p/variables.tf',
  ])
    assert.equal(findSecretPart(path), undefined, path)
})

test('a pattern that is written to find secrets is one', () => {
  for (const pattern of ['.e*', '.en?', '.*', 'id_*', '*.pem', 'cred*.json', '~/.ss?/x', '[.]env'])
    assert.ok(globFindsSecret(pattern), pattern)
  for (const pattern of ['*', '*.ts', 'src/**', '*.json', 'a*', 'test_*.py', '*.{js,ts}'])
    assert.ok(!globFindsSecret(pattern), pattern)
})

test('a project as wide as a home has no folder for code', t => {
  const { home } = world(t)
  const { risk } = classify({ tool: 'Write', input: { file_path: 'src/a.ts' }, project: home, home }) as Assessment
  assert.equal(risk, 'MEDIUM')
})

test('a folder whose files steer agents, git or other programs is as sensitive as they are', t => {
  const { risk, found } = world(t)
  for (const folder of ['.claude', '.claude/agents', '.codex', '.cursor', '.vscode', '.idea', '.devcontainer', '.git'])
    assert.equal(risk('Write', folder), 'HIGH', folder)
  assert.equal(found('Write', '.github/workflows').reasons[0]?.code, 'path.ci')
  assert.equal(found('Write', '.circleci').reasons[0]?.code, 'path.ci')
  assert.equal(risk('Write', '.claude-notes.md'), 'MEDIUM')
  assert.equal(risk('Write', 'src/cursor/a.ts'), 'LOW')
})

test('a copy into such a folder is not allowed by the name of the folder', t => {
  const { project, home } = world(t)
  const risk = (command: string) => (classify({ tool: 'Bash', input: { command }, project, home }) as Assessment).risk
  assert.equal(risk('cp settings.json .claude'), 'HIGH')
  assert.equal(risk('cp settings.json ./.claude/'), 'HIGH')
  assert.equal(risk('mv -t .claude settings.json'), 'HIGH')
})

test('a path with a character that cannot be seen is never LOW, and a dollar inside a name is a letter', t => {
  const { risk } = world(t)
  assert.equal(risk('Write', 'src/\u202ea.ts'), 'MEDIUM')
  assert.equal(risk('Write', 'src/a\u200b.ts'), 'MEDIUM')
  assert.equal(risk('Write', 'app/routes/$id.tsx'), 'LOW')
  assert.equal(risk('Write', '$DIR/a.ts'), 'MEDIUM')
  assert.equal(risk('Write', 'src/${X}/a.ts'), 'MEDIUM')
})

test('a file that is there is replaced by a copy, so nothing is looked for inside of it; a folder may hide more', t => {
  const root = realpathSync(tempDir(t))
  const project = join(root, 'proj')
  mkdirSync(join(project, 'src'), { recursive: true })
  mkdirSync(join(project, 'links'))
  writeFileSync(join(project, 'src/a.js'), '')
  writeFileSync(join(project, 'src/b.js'), '')
  symlinkSync(root, join(project, 'links/a.js'))
  const risk = (command: string) =>
    (classify({ tool: 'Bash', input: { command }, project, home: join(root, 'home') }) as Assessment).risk
  assert.equal(risk('cp src/a.js src/b.js'), 'MEDIUM')
  assert.equal(risk('mv src/a.js src/b.js'), 'MEDIUM')
  assert.equal(risk('cp src/a.js links'), 'HIGH', 'the name in the folder is a link that leads out')
})
