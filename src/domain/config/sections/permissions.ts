import { flag, oneOf, type Setting, texts } from '../setting.ts'
import { both, joined, onlyTo, shared } from './tighten.ts'

/** What is allowed without a person. */
export const PERMISSIONS_SETTINGS = {
  'permissions.auto_approve_low_risk': flag({
    standard: true,
    about: 'Allow LOW risk requests without a person',
    project: 'tighten',
    tighten: both,
    inForce: true,
    also: ['auto_approve'],
  }),
  'permissions.safe_directories': texts({
    standard: ['src/', 'tests/', 'lib/', 'app/', 'packages/'],
    about: 'Directories in which a write is LOW risk',
    project: 'tighten',
    tighten: shared,
    inForce: true,
  }),
  'permissions.blocked_commands': texts({
    standard: ['rm -rf /', 'sudo', 'curl | sh'],
    about: 'Commands that are always refused',
    project: 'tighten',
    tighten: joined,
    inForce: true,
  }),
  'permissions.unattended_high': oneOf(['deny', 'wait'], {
    standard: 'deny',
    about: 'HIGH risk with nobody there: refused at once with the way round, or the session waits for a person',
    project: 'tighten',
    tighten: onlyTo<'deny' | 'wait'>('deny'),
    inForce: true,
  }),
} as const satisfies Record<string, Setting>
