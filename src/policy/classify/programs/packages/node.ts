import type { Manager } from './package-verbs.ts'

const NODE_HIGH: [RegExp, string][] = [
  [
    /^(publish|unpublish|deprecate|undeprecate|dist-tag (add|rm|set|remove)|owner (add|rm)|npm (publish|tag|owner)|stage|trust)\b/,
    'publishes or takes back packages',
  ],
  [/^(token|npm token)\b/, 'handles the tokens of the registry'],
  [
    /^(config|c) (set|delete|rm|edit|fix)\b.*(registry|auth|token|_password|script-shell|prefix|node-options|proxy|ca|strict-ssl|\/\/)/i,
    'changes where packages come from or who it logs in as',
  ],
  [/^config (delete|rm) /, 'changes settings'],
]

const NODE_FLAGS =
  /^(--(workspaces?|if-present|silent|save(-dev|-exact|-optional|-peer|-prod|-bundle)?|no-save|dev|exact|optional|peer|prod|production|omit|include|legacy-peer-deps|strict-peer-deps|json|depth|all|long|parseable|no-audit|audit|no-fund|fund|prefer-offline|prefer-online|offline|loglevel|verbose|quiet|color|no-color|progress|no-progress|ignore-scripts|dry-run|package-lock-only|no-package-lock|frozen-lockfile|no-frozen-lockfile|immutable|audit-level|recursive|filter|parallel|stream|if-present|no-bail|bail|reporter|watch|coverage|ci|version|help|latest|production|non-interactive|network-timeout|no-optional|no-lockfile|topological(-dev)?|interlaced|jobs|since|aggregate-output|sort|no-sort|resume-from|include-workspace-root|lockfile-only|fix-lockfile|mode|inline-builds|check-cache|check-files|pure-lockfile|strict|interactive|no-interactive|check|fix|bun|hot|smol|timeout|only|only-failures|rerun-each|todo|env-file-if-exists)(=.*)?|-[wsDSEOPBadqrFvhCWTRiAptLj?]+|-dd+|-r\d*)$/

export const npm: Manager = {
  low: /^(test|t|tst|it|cit|install-test|start|stop|restart|ls|list|ll|la|view|info|show|v|outdated|audit( fix)?|explain|why|root|prefix|bin|ping|search|s|se|find|fund|doctor|docs|home|repo|bugs|issues|query|sbom|help|help-search|completion|whoami|version|diff|config (get|list|ls)|c (get|list|ls)|get|cache (ls|verify)|pack|dist-tag ls|licenses)( |$)/,
  installs:
    /^(install|i|in|ins|inst|isntall|add|ci|clean-install|update|up|upgrade|udpate|dedupe|ddp|prune|uninstall|un|remove|rm|r|unlink|import|fetch)( |$)/,
  runs: /^(run|run-script|rum|urn)( |$)/,
  fetches: /^(exec|x|create|init|dlx)( |$)/,
  high: NODE_HIGH,
  flags: NODE_FLAGS,
  highFlags:
    /^--(registry|script-shell|node-options|userconfig|globalconfig|git|shell|unsafe-perm|editor|viewer|browser|https?-proxy|proxy|cafile|ca|strict-ssl|otp|auth-type|_auth.*|.*:registry|.*authtoken.*|call|use-yarnrc|modules-folder)(=|$)/i,
  valued: [
    '-w',
    '--workspace',
    '--loglevel',
    '--depth',
    '--omit',
    '--include',
    '--filter',
    '-F',
    '--prefix',
    '-C',
    '--dir',
    '--cwd',
    '--registry',
    '--userconfig',
    '--cache',
    '--script-shell',
    '--reporter',
    '--tag',
    '--otp',
    '--audit-level',
    '--network-timeout',
    '-p',
    '--package',
    '--node-options',
    '--call',
    '-c',
  ],
}
