/** How a namespace is made: `unshare` with its flags, and what stands before the command inside. */
export interface Namespace {
  enter: readonly string[]
  prefix: readonly string[]
}

/**
 * In a namespace the agent stands below three helpers, all in its process group:
 *
 * leader (sh, the child its owner sees) → unshare → init (sh, number 1 inside) → agent
 *
 * The init is needed: number 1 ignores signals it has no handler for, and orphans that nobody reaps would stay visible, so a
 * tool that waits for a process to vanish would wait for ever. The agent gets the leader's number inside too (`ns_last_pid`
 * sets the next one): equal numbers in several namespaces would collide wherever a program names a file by its number.
 * An init cannot die by a signal of its own, so a death by signal arrives as 128 + n, as in every shell, and the leader dies
 * by signal n again. The leader's traps leave a signal to the group for the agent; they are reset in its children.
 */
export function inNamespace(
  namespace: Namespace,
  command: string,
  args: string[],
): { command: string; args: string[] } {
  const words = ['pcc-leader', namespace.enter.join(' '), INIT, ...namespace.prefix, command, ...args]
  return { command: '/bin/sh', args: ['-c', LEADER, ...words] }
}

const LEADER = `enter=$1 init=$2; shift 2
trap : HUP INT QUIT USR1 PIPE USR2 ALRM TERM
$enter /bin/sh -c "$init" pcc-init $$ "$@"
code=$?
if [ $code -gt 128 ] && [ $code -le 143 ]; then
  ulimit -c 0; trap - HUP INT QUIT USR1 PIPE USR2 ALRM TERM; kill -$((code - 128)) $$
fi
exit $code`

/** Its own complaints ("Killed") must not appear among the agent's. */
const INIT = `exec 3>&2 2>/dev/null
echo $(($1 - 1)) >/proc/sys/kernel/ns_last_pid; shift
(exec 2>&3 3>&-; exec "$@")
exit $?`
