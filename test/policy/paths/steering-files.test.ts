import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AGENT_DEFINITIONS } from '../../../src/domain/agents/agent-registry.ts'
import { findSteering } from '../../../src/policy/paths/steering-files.ts'

function check(code: string, risk: string, paths: string[]): void {
  for (const path of paths) {
    const found = findSteering(path)
    assert.deepEqual([found?.code, found?.risk], [code, risk], path)
    assert.match(found?.why ?? '', /\w+ \w+/, path)
  }
}
function ordinary(paths: string[]): void {
  for (const path of paths) assert.equal(findSteering(path), undefined, path)
}

test('what steers an agent or its guard is HIGH', () => {
  check('path.guard', 'HIGH', [
    '/p/.perpetualcc',
    '/p/.perpetualcc.toml',
    '/p/.perpetualcc/rules.toml',
    '/p/.PerpetualCC/x',
    '//p//.perpetualcc//x',
  ])
  check('path.guard', 'HIGH', [
    '/p/.claude/settings.json',
    '/p/.claude/settings.local.json',
    '/p/.claude/hooks',
    '/p/.claude/hooks/a.sh',
    '/p/.claude/hooks/a/b',
    '/p/.claude/hooks.json',
    '/p/.claude/guard.py',
    '/p/.claude/check.mjs',
    '/p/.claude/commands/a.md',
    '/p/.claude/commands/a/b.md',
    '/p/.claude/agents/a.md',
    '/p/.claude/agents/a/b.md',
    '/p/.claude/plugins/a.md',
    '/p/.claude/plugins/a/b',
    '/p/.claude/skills/a/b',
    '/p/.claude/rules/a/b',
    '/p/.codex/config.toml',
    '/p/.codex/config.x.y',
    '/p/.gemini/settings.json',
    '/p/.cursor/mcp.json',
    '/p/.claude/.credentials.json',
    '/p/.claude/.credentials',
  ])
  check('path.guard', 'HIGH', [
    '/p/.mcp.json',
    '/h/.claude.json',
    '/p/.cursorrules',
    '/p/.aider.conf.yml',
    '/etc/claude-code/managed-settings.json',
  ])
  check('path.instructs', 'MEDIUM', [
    ...[
      '/p/.claude/CLAUDE.md',
      '/p/CLAUDE.md',
      '/p/AGENTS.md',
      '/p/api/GEMINI.md',
      '/p/.github/copilot-instructions.md',
    ],
  ])
  check('path.runs', 'MEDIUM', ['/p/setup.py', '/p/crates/a/build.rs', '/p/bin/rails'])
  ordinary([
    ...['/p/docs/agents.mdx', '/p/src/setup.pyx', '/p/src/rails', '/p/my-agents.md'],
    '/p/claude/settings.json',
    '/p/.claude/x/settings.json',
    '/p/.claude/hooksx',
    '/p/.claude/config',
    '/p/.mcp.json5',
    '/p/x.mcp.json',
    '/p/.cursorrules.md',
    '/p/.claude/mcp.json.md',
    '/p/.claude/hooks.json5',
    '/p/.claude/notes/commands',
    '/p/.claude/agentsx/a',
  ])
})

test("git's own files are HIGH", () => {
  check('path.git', 'HIGH', [
    '/p/.git',
    '/p/.git/hooks/pre-commit',
    '/p/.GIT/config',
    '/p/git~1',
    '/p/git~1/config',
    '/p/git~12/config',
    '/h/.gitconfig',
    '/p/.gitmodules',
    '/p/.gitattributes',
    '/h/.config/git/config',
  ])
  ordinary([
    '/p/.gitignore',
    '/p/.gitx/a',
    '/p/git~x',
    '/p/git~/a',
    '/p/git~1x',
    '/p/.gitconfig.md',
    '/p/.github/readme.md',
    '/p/.config/gitx/a',
  ])
})

test('what runs by itself when something starts is HIGH', () => {
  check('path.startup', 'HIGH', [
    '/h/.bashrc',
    '/h/.zshrc',
    '/h/.kshrc',
    '/h/.cshrc',
    '/h/.shrc',
    '/h/.zshenv',
    '/h/.fishrc',
    '/h/.dashrc',
    '/h/.bash_profile',
    '/h/.profile',
    '/h/.vimrc',
    '/h/.tmux.conf',
    '/h/.envrc',
    '/h/.curlrc',
  ])
  check('path.startup', 'HIGH', [
    '/h/.config/fish/config.fish',
    '/h/.config/autostart/a.desktop',
    '/h/.local/bin/x',
    '/h/.local/share/applications/x',
    '/h/.config/systemd/user/a',
    '/h/Library/LaunchAgents/a.plist',
    '/h/.vim/a',
    '/h/.oh-my-zsh/x',
  ])
  check('path.startup', 'HIGH', [
    '/etc/crontab',
    '/etc/cron.d',
    '/etc/cron.d/a',
    '/etc/cron.daily/a-b',
    '/etc/cron.hourly',
    '/h/authorized_keys',
    '/h/authorized_keys2',
    '/etc/rc.local',
    '/etc/ld.so.preload',
  ])
  ordinary([
    '/h/.bashrc.md',
    '/h/bashrc',
    '/h/.profile.d/x',
    '/h/.tmuxxconf',
    '/h/.config/fishy/a',
    '/h/.local/share/x',
    '/etc/crontab.md',
    '/etc/cron.x/a',
    '/h/authorized_keys3',
    '/h/.vimrcs',
    '/p/xcrontab',
    '/h/.xshrc',
    '/etc/cron.dx',
  ])
})

test('what other programs run without being asked is HIGH', () => {
  check('path.hook', 'HIGH', [
    '/p/.github/hooks/a.json',
    '/p/.husky',
    '/p/.husky/pre-commit',
    '/p/.githooks/a',
    '/p/.vscode/tasks.json',
    '/p/.vscode/settings.json',
    '/p/.vscode/launch.json',
    '/p/.idea/workspace.xml',
    '/p/.idea/runConfigurations/a.xml',
    '/p/.devcontainer/Dockerfile',
    '/p/.devcontainer.json',
  ])
  ordinary([
    '/p/.huskyrc',
    '/p/.huskyx/a',
    '/p/.vscode/tasks.json5',
    '/p/.vscode/snippets.json',
    '/p/.vscode/x/tasks.json',
    '/p/.idea/misc.xml',
    '/p/.idea/workspace.xml.bak',
    '/p/.devcontainer.json5',
    '/p/.idea/x/workspace.xml',
  ])
})

test('what says where packages come from is HIGH', () => {
  check('path.tool-config', 'HIGH', [
    '/p/.npmrc',
    '/p/.yarnrc',
    '/p/.yarnrc.yml',
    '/p/.pypirc',
    '/p/.condarc',
    '/p/.pnpmfile.cjs',
    '/p/pip.conf',
    '/p/pip.ini',
    '/p/.cargo/config',
    '/p/.cargo/config.toml',
    '/p/.yarn/plugins/a.cjs',
    '/p/.yarn/releases/yarn-4.cjs',
    '/p/sitecustomize.py',
    '/v/a.pth',
    '/v/.pth',
  ])
  ordinary([
    '/p/.npmrc.md',
    '/p/npmrc',
    '/p/.yarnrc.yaml',
    '/p/pip.confx',
    '/p/.cargo/config.tom',
    '/p/.yarn/cache/a',
    '/p/sitecustomize.pyc',
    '/p/a.pth/b',
    '/p/xpip.conf',
  ])
})

test('what runs elsewhere with secrets at hand is MEDIUM', () => {
  check('path.ci', 'MEDIUM', [
    '/p/.github/workflows/ci.yml',
    '/p/.github/actions/a/action.yml',
    '/p/.gitlab-ci.yml',
    '/p/.gitlab-ci.yaml',
    '/p/.travis.yml',
    '/p/Jenkinsfile',
    '/p/azure-pipelines.yml',
    '/p/azure-pipelines.yaml',
    '/p/bitbucket-pipelines.yml',
    '/p/.drone.yml',
    '/p/cloudbuild.yaml',
    '/p/cloudbuild.yml',
    '/p/.circleci/config.yml',
    '/p/.circleci/a/b',
    '/p/.buildkite/a/b',
    '/p/.teamcity/a/b',
    '/p/.woodpecker.yml',
    '/p/.woodpecker/a',
    '/p/.woodpecker',
    '/p/buildspec.yml',
    '/p/buildspec.yaml',
    '/p/CODEOWNERS',
    '/p/dependabot.yml',
    '/p/dependabot.yaml',
    '/p/renovate.json',
    '/p/renovate.json5',
    '/p/lefthook.yml',
    '/p/lefthook.yaml',
    '/p/.lefthook.yml',
    '/p/.lefthook.yaml',
    '/p/.pre-commit-config.yaml',
    '/p/.lintstagedrc',
    '/p/.lintstagedrc.json',
  ])
  ordinary([
    '/p/.github/dependabot',
    '/p/.gitlab-ci.yml.md',
    '/p/jenkinsfile.md',
    '/p/xjenkinsfile',
    '/p/renovate.json6',
    '/p/buildspec.toml',
    '/p/codeowners.md',
    '/p/lefthook.toml',
    '/p/.pre-commit-config.yml',
    '/p/xlefthook.yml',
    '/p/lefthook.yml.md',
  ])
})

test('a folder that holds such files is one itself: what is copied into it brings its own name', () => {
  check('path.guard', 'HIGH', [
    '/p/.claude',
    '/p/.cursor',
    '/p/.claude/agents',
    '/p/.claude/skills',
    '/p/.roo/rules',
    '/p/.claude/output-styles/a.md',
    '/p/.kiro/steering/x',
  ])
  check('path.git', 'HIGH', ['/h/.config/git'])
  check('path.startup', 'HIGH', ['/h/.config/fish', '/h/.local/bin', '/h/.vim', '/h/.nvim.lua', '/p/.dir-locals.el'])
  check('path.hook', 'HIGH', [
    '/p/.vscode',
    '/p/.zed',
    '/p/.zed/tasks.json',
    '/p/.idea',
    '/p/.idea/runConfigurations',
    '/p/.devcontainer',
  ])
  check('path.tool-config', 'HIGH', ['/p/.cargo', '/p/.yarn/plugins', '/p/.yarn/releases'])
  check('path.ci', 'MEDIUM', [
    '/p/.github',
    '/p/.github/workflows',
    '/p/.github/actions',
    '/p/.circleci',
    '/p/.buildkite',
    '/p/.teamcity',
  ])
  ordinary([
    '/p/.claudex',
    '/p/.claude/x',
    '/p/.vscodex',
    '/p/.vscode/x',
    '/p/.zed/x.json',
    '/p/.zed/tasks.json5',
    '/p/.ideax',
    '/p/.idea/runConfigurationsx',
    '/p/.cargox',
    '/p/.githubx',
    '/p/.github/workflowsx',
    '/p/.circlecix',
    '/p/.devcontainerx',
    '/p/.yarn/pluginsx',
    '/h/.config/fishx',
    '/h/.config/gitx',
  ])
})

test('the settings folder of every agent that pcc knows steers it', () => {
  for (const { kind, settingsFolder } of AGENT_DEFINITIONS)
    for (const path of [settingsFolder, `${settingsFolder}/settings.json`, `${settingsFolder}/agents/a.md`])
      assert.equal(findSteering(`/p/${path}`)?.code, 'path.guard', `${kind}: ${path}`)
})
