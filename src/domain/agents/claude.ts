import type { AgentFolder, SandboxNeeds } from '../../base/sandbox/settings.ts'
import { STANDARD_AGENT_ENV } from '../agent-env.ts'
import type { AgentManifest } from '../agent-manifest.ts'
import type { AgentDefinition, Vendor } from './definition.ts'

const vendor: Vendor = {
  tag: 'claude',
  env: STANDARD_AGENT_ENV,
  prefixes: ['ANTHROPIC', 'CLAUDE'],
  addresses: ['ANTHROPIC_BASE_URL'],
  host: 'api.anthropic.com',
  credentials: [
    ['ANTHROPIC_API_KEY', 'API key'],
    ['ANTHROPIC_AUTH_TOKEN', 'bearer token'],
    ['CLAUDE_CODE_OAUTH_TOKEN', 'subscription token'],
  ],
  login: {
    ...{ variable: 'CLAUDE_CONFIG_DIR', folder: '.claude', file: '.credentials.json' },
    command: 'pcc agents login',
  },
}

/**
 * What Claude Code needs in a sandbox. Of its folder it keeps its login, which it renews, and the conversations of this directory. It
 * follows what it finds in its own notes (`memory`), in this project and without pcc too, so it only reads them. The rest of its state would be run or read by the person's next one, or belongs to other projects. It reads what the person has set up there. It saves `.claude.json` through files
 * beside it, so it gets a copy, in which it changes what it likes.
 */
export const CLAUDE_NEEDS: SandboxNeeds & { folder: AgentFolder } = {
  folder: {
    name: '.claude',
    variable: 'CLAUDE_CONFIG_DIR',
    writable: ['projects/{project}'],
    readOnly: ['projects/{project}/memory'],
    login: ['.credentials.json'],
    shown: [
      ...['settings.json', 'CLAUDE.md', 'agents', 'commands', 'skills', 'hooks', 'plugins', 'output-styles', 'rules'],
      ...['agent-memory', 'keybindings.json', 'themes', 'workflows', 'remote-settings.json'],
    ],
    copied: { name: '.claude.json', projects: 'projects' },
    own: {
      agent: [
        ...['backups/', 'projects/', 'shell-snapshots/', 'session-env/', 'sessions/', 'todos/', 'tasks/', 'plans/'],
        ...['file-history/', 'debug/', 'cache/', 'statsig/', 'plugins/store/', 'history.jsonl', 'stats-cache.json'],
        ...['.claude.json', '.credentials.json', '.last-'],
      ],
      home: ['.claude.json', '.claude/'],
      tmp: ['cc-socks/', 'claude-'],
      caches: ['cache/all/claude-cli-nodejs/', 'cache/changes/claude-cli-nodejs/'],
      // The state of the shell, which every command begins with.
      runs: ['shell-snapshots/'],
      tells: ['/memory/'],
      ofTask: ['claude-'],
    },
    programsIn: [
      { file: '.claude.json', keys: ['mcpServers'] },
      { file: 'settings.json', keys: ['hooks', 'statusLine', 'apiKeyHelper', 'awsAuthRefresh', 'awsCredentialExport'] },
    ],
  },
  hosts: ['api.anthropic.com', 'console.anthropic.com', 'platform.claude.com', 'claude.ai'],
  addresses: ['ANTHROPIC_BASE_URL'],
}

/**
 * Files with secrets that Claude Code does not load, although a `CLAUDE.md` imports them with `@file`: it reads such files by itself,
 * without a call that could be judged. The patterns are matched against absolute paths (`claudeMdExcludes`).
 */
export const NEVER_IMPORTED: readonly string[] = [
  ...['.env*', '*.env', '.{dev,prod,production,staging}.vars', '.vars.{dev,prod,production,staging}'],
  '*.{pem,key,p12,pfx,p8,ppk,jks,keystore,kdbx,kdb,ovpn,gpg,keychain,keychain-db,tfstate,tfstate.backup,mobileprovision}',
  ...[
    'id_{rsa,dsa,ecdsa,ed25519,xmss}*',
    'ssh_host_*_key',
    '{login.keychain,utc--,UTC--}*',
    '{master.passwd,krb5.keytab,opasswd}',
  ],
  '{.netrc,_netrc,.npmrc,.yarnrc.yml,.pypirc,.pgpass,.my.cnf,.mylogin.cnf,.git-credentials,.htpasswd,.dockercfg,.s3cfg,.boto,.vault-token}',
  '{.terraformrc,.fly.toml,.erlang.cookie,.databrickscfg,.passwd-s3fs,.smbcredentials,.sentryclirc,kaggle.json,.rclone.conf,rclone.conf}',
  ...['credential', 'secret', 'password', 'token', 'apikey', 'api-key', 'api_key'].map(
    name => `{,.}${name}{,s}{,.json,.yml,.yaml,.toml,.ini,.txt,.csv,.xml,.properties,.enc,.cfg,.conf,.db}`,
  ),
  ...['*credentials*.json', '*[-_.]{credential,secret}{,s}.{json,yml,yaml,toml,ini,env,enc}'],
  '{service-account,service_account,serviceaccount,client-secret,client_secret,clientsecret,gcp-key,gcp_key,gcpkey}*.json',
  '{application_default_credentials,firebase-adminsdk}*.json',
  ...[
    '{auth.json,auth.toml,hosts.yml,keyfile,cookies.sqlite,logins.json,key3.db,key4.db}',
    '{*.,}kubeconfig{,.yml,.yaml,.json,.conf}',
  ],
  ...[
    '{shadow,gshadow,shadow-,sudoers,chap-secrets,pap-secrets,access-token,access_token}',
    '{terraform,*.auto}.tfvars{,.json}',
  ],
  ...['{,.}{,ansible-,ansible_}vault[-_]pass*', '{wallet.dat,wallet.json,.wallet.json,keystore.json}'],
  '{mnemonic,seed-phrase,seed_phrase,seedphrase,recovery-,recovery_,recoverycode,recoverykey}*',
  ...['.ssh/**', '.aws/**', '.gnupg/**', '.kube/**', '.azure/**', '.config/gcloud/**', '.config/gh/**', '.docker/**'],
  ...['.perpetualcc/*.toml', '.perpetualcc/run/**', '.perpetualcc/data/**'],
].map(pattern => `**/${pattern}`)

const manifest: AgentManifest = {
  kind: 'claude',
  name: 'Claude Code',
  revision: 1,
  verified: ['2.1.325'],
  speaks: 'sdk',
  start: {
    command: 'claude',
    args: [],
    env: {},
    files: {},
    model: {},
    install:
      'it comes with pcc; reinstall that with its optional dependencies (npm i -g perpetualcc --include=optional)',
    bundled: true,
    serves: { files: false, terminals: false },
  },
  hold: 'every-call',
  heldBy: 'a hook that sees every call in every mode and blocks when it fails',
  modes: { work: 'default', known: ['default', 'acceptEdits', 'plan', 'auto', 'dontAsk', 'bypassPermissions'] },
  readOnly: 'the session is given reading tools only',
  limits: "the vendor's own records, with window, reset and how full each window is",
  resume: 'resume',
  forks: true,
  tools: { nameIn: 'native', known: {} },
  ownTools: { over: 'library' },
  sandbox: CLAUDE_NEEDS,
  departs: {},
  quirks: [],
}

/** The interactive Claude Code in a tmux window (`--host tmux`): the same program, observed through its hooks and its own files. */
export const claudeInTmux: AgentManifest = {
  ...manifest,
  name: 'Claude Code in tmux',
  host: 'tmux',
  heldBy: 'hooks that see every call in every mode, ask the daemon, and refuse when it is away',
  limits: 'as Claude Code writes them down, with window and reset; how full each window is by its status line',
  ownTools: { over: 'mcp', named: 'settings', called: 'mcp__{server}__{tool}' },
  departs: {
    subagent: 'no-words',
    'failure.retries': 'untold',
    'park.call': 'gone',
    'park.question': 'gone',
    'park.batch': 'gone',
    warm: 'none',
    reuse: 'none',
  },
  quirks: [
    'A pasted prompt that begins with "!" would be run as a shell command, and one with "/" as a command of Claude Code: a line of text is put before it.',
    'PermissionRequest does not say which call it is about: the call is found by tool and input.',
    'No hook reports an interrupted turn: the state file does.',
  ],
}

/** Claude Code through the vendor's own library: the reference for what a driver promises. */
export const claudeAgent: AgentDefinition = {
  ...manifest,
  speaker: 'Claude',
  commandLine: { protocol: [], flags: {} },
  vendor,
  settingsFolder: '.claude',
  inTmux: claudeInTmux,
}
