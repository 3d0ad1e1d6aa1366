import type { VerbRow } from '../common/build.ts'

export const GONE = 'cannot be taken back'

/** Words with which cloud tools destroy, wherever they stand. */
export const DESTROY =
  /(^|[ :.-])(delete|destroy|terminate|remove|rm|rb|purge|drop|nuke|wipe|deprovision|detach|disable|revoke|deregister|cancel|undeploy|teardown|del|reset|uninstall|kill|stop|flush|rollback|undelete|force-delete|truncate|prune|expunge|release)([ :.-]|$)/i

/** Verbs that only look, as a whole word or at the head of one (`describe-instances`). */
const LOOKS =
  'get|list|ls|ll|describe|show|status|info|whoami|version|logs?|events|top|search|view|ps|images|inspect|history|diff|plan|validate|fmt|check|help|explain|api-resources|api-versions|cluster-info|current-context|regions|providers|output|graph|head|lookup|find|port|tail|releases|apps|domains|open'
/** At the verb's place: the first words, before any that changes something, never in the name of a thing. */
export const READS = new RegExp(
  `^(?!.*(^|[ :])(deploy|create|update|set|apply|scale|restart|run|start|publish|send|put|push|invoke|add|patch|edit|import|up|rollout|promote|exec|enable|attach|modify|register|copy|move|rename|resize|reboot|drains)([ :-]|$))([\\w-]+[ :]){0,3}(${LOOKS})(-[\\w-]+)?([ :]|$)`,
  'i',
)

const SECRET =
  /(^|[ :.-])(secrets?|secretsmanager|ssm|kms|keyvault|credentials?|access-keys?|print-access-token|print-identity-token|auth print|login|get-login-password|get-secret-value|get-parameters?|tokens?|service-account keys?|auth token|kv get|read op|assume-role|get-session-token|export-credentials|configure|env (pull|ls|list|get)|env:(list|get|pull)|get values|config:get|show-secrets|get-password-data|config get|show-token)([ :.-]|$)/i

export const CLOUD: VerbRow[] = [
  [
    /(^| )(upload|upload-batch|put-object|cp|mv|rsync|sync|mirror|put)( |$)/,
    'HIGH',
    'net.send',
    'sends files away, or overwrites them',
  ],
  [DESTROY, 'HIGH', 'infra.destroy', GONE],
  [SECRET, 'HIGH', 'secret.store', 'handles secrets or logins'],
  [READS, 'MEDIUM', 'infra.read', 'looks at shared things'],
]

export const CLOUD_FLAGS: VerbRow[] = [
  [
    /^(--force|--yes|-y|--quiet|-q|--auto-approve|-auto-approve|--delete|--purge|--grace-period=0|--now|--force-with-lease|--skip-confirmation|--no-confirm|--confirm)(=|$)/,
    'HIGH',
    'infra.force',
    'skips what would stop it',
  ],
  [/^--?(show-secrets?|show-token|reveal|with-decryption|decrypt)(=|$)/, 'HIGH', 'secret.store', 'shows secrets'],
  [
    /^--?(out|output-dir|output-file|out-dir|outfile|chdir|kubeconfig|endpoint-url|endpoint|server|host|profile-file|post-renderer|plugin-dir|token|credentials-file)(=|$)/,
    'MEDIUM',
    'infra.elsewhere',
    'writes somewhere, or goes elsewhere',
  ],
]

export const changes = { risk: 'MEDIUM', code: 'infra.change', text: 'changes shared things' } as const

export const VALUED = [
  '-n',
  '--namespace',
  '--context',
  '--profile',
  '--region',
  '--project',
  '-g',
  '--resource-group',
  '--name',
  '-o',
  '--output',
  '--query',
  '-l',
  '--selector',
  '-f',
  '--filename',
  '-a',
  '--app',
  '-p',
  '-e',
  '--env',
  '--zone',
  '--account',
  '--kubeconfig',
  '--cluster',
  '--format',
  '--filter',
  '-c',
  '--container',
  '-R',
  '--repo',
  '--function-name',
  '-t',
  '--title',
  '-b',
  '--body',
  '-m',
  '--limit',
  '-L',
  '--json',
  '-q',
  '--jq',
  '--template',
  '-H',
  '-F',
  '-X',
]
