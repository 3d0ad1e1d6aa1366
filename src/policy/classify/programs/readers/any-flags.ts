import type { Rules } from '../../call.ts'
import { named } from '../common/build.ts'

/**
 * Programs and builtins that do no more than print, compute, wait or change the shell they run in, whatever their flags: they
 * open no file for writing, start nothing and ask nobody. What is substituted in their words is judged elsewhere.
 */
export const ANY_FLAGS =
  'echo true false : test [ printf pwd seq sleep basename dirname expr nproc whoami id groups logname tty uptime uname cal ncal hostid which type times wait ulimit let shift return exit break continue dirs help getopt getopts users lsb_release sw_vers vm_stat numfmt clear tr read unset unalias disown bg fg caller'

export const ANY_FLAG_RULES: Rules = named(ANY_FLAGS, () => undefined)

/** Builtins with a rule for what they do to the shell. Their flags are read by the shell itself, which refuses what it does not know. */
export const SHELL_BUILTINS =
  'cd pushd popd set export declare typeset local readonly mapfile readarray shopt trap alias command builtin exec'
