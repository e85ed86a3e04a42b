package git

// The variable and files by which a fetch hands its SSH secrets to SSHMain.
const (
	sshDirVariable = "TRUCE_SSH_DIR"
	identityFile   = "identity"
	passwordFile   = "password"
	knownHostsFile = "known_hosts"

	// What SSHMain prints first, by which the fetch knows the reason.
	sshAuthentication = "truce: ssh authentication: "
	sshHostKey        = "truce: ssh host key: "
)
