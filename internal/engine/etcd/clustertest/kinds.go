//go:build linux

package clustertest

import (
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"plimsoll/internal/record/kubeclient"
)

// Kinds that only tests make.
var (
	Namespaces   = kubeclient.NewKind[corev1.Namespace]("", "v1", "Namespace", "namespaces", false)
	Roles        = kubeclient.NewKind[rbacv1.Role]("rbac.authorization.k8s.io", "v1", "Role", "roles", true)
	ClusterRoles = kubeclient.NewKind[rbacv1.ClusterRole]("rbac.authorization.k8s.io", "v1", "ClusterRole",
		"clusterroles", false)
	// ClusterRoleBindings grant cluster roles to users.
	ClusterRoleBindings = kubeclient.NewKind[rbacv1.ClusterRoleBinding]("rbac.authorization.k8s.io", "v1",
		"ClusterRoleBinding", "clusterrolebindings", false)
	RoleBindings = kubeclient.NewKind[rbacv1.RoleBinding]("rbac.authorization.k8s.io", "v1", "RoleBinding",
		"rolebindings", true)
)
